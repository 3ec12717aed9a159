/**
 * One connection and the request on it. It is the handler that undici calls, in the older form (`onHeaders` with raw
 * headers): undici 7 calls that form directly, and wraps the newer one in an object and parsed headers per request.
 */
import { type buildConnector, Client } from 'undici';
import { connectionFailure } from './connection-failure.js';
import type { Limited } from './time-limit.js';

/** A request as it is sent, made once and sent often. */
export interface HttpRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body: Buffer | null;
  /** Whether `body` of the response is wanted; otherwise its bytes are counted. */
  readonly wantsBody: boolean;
}

export interface HttpResponse {
  /** Why there is no complete response: `ECONNRESET`, `no response within 1 s`; undefined with a complete response. */
  readonly failure: string | undefined;
  /** 0 without a response. */
  readonly status: number;
  readonly statusText: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly Buffer[];
  readonly bodyBytes: number;
  readonly body: Buffer;
}

export type HttpDone = (response: HttpResponse) => void;

export interface ConnectionOwner {
  readonly opened: () => void;
  readonly disconnected: () => void;
  /** The request has ended, and the next one may be sent. */
  release(connection: HttpConnection): void;
  /** The request has failed: the client may be in any state, and is not used again. */
  discard(connection: HttpConnection): void;
  /** The caller knows how the request ended. */
  told(): void;
  expired(connection: HttpConnection): void;
}

/** Of a body that is wanted, and so is kept until its end: as of gRPC. Other bodies may have any length. */
const MOST_BODY_BYTES = 64 * 2 ** 20;
const NO_HEADERS: readonly Buffer[] = [];
const NO_BYTES = Buffer.alloc(0);

export class HttpConnection implements HttpResponse, Limited {
  failure: string | undefined;
  status = 0;
  statusText = '';
  rawHeaders: readonly Buffer[] = NO_HEADERS;
  bodyBytes = 0;
  expiresAt = 0;
  earlier: Limited | undefined;
  later: Limited | undefined;
  readonly #owner: ConnectionOwner;
  readonly #client: Client;
  /** Undefined while the connection is idle. */
  #done: HttpDone | undefined;
  #wantsBody = false;
  #chunk: Buffer = NO_BYTES;
  #moreChunks: Buffer[] | undefined;
  #isSending = false;

  constructor(origin: URL, connect: buildConnector.connector, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#client = new Client(origin, {
      connect,
      pipelining: 1,
      // The time limit of all requests is one timer, elsewhere.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#client.on('connect', owner.opened);
    this.#client.on('disconnect', owner.disconnected);
  }

  send(request: HttpRequest, done: HttpDone): void {
    this.#done = done;
    this.#wantsBody = request.wantsBody;
    this.failure = undefined;
    this.status = 0;
    this.statusText = '';
    this.rawHeaders = NO_HEADERS;
    this.bodyBytes = 0;
    this.#chunk = NO_BYTES;
    this.#moreChunks = undefined;
    this.#isSending = true;
    this.#client.dispatch(request, this);
    this.#isSending = false;
  }

  get body(): Buffer {
    return this.#moreChunks === undefined ? this.#chunk : Buffer.concat(this.#moreChunks);
  }

  /** Ends the request without waiting for the response. The connection is of no use after that. */
  fail(reason: string): void {
    const done = this.#done;
    if (done === undefined) return;
    this.#done = undefined;
    this.failure = reason;
    this.#owner.discard(this);
    this.#tell(done);
  }

  expire(): void {
    this.#owner.expired(this);
  }

  close(): Promise<void> {
    this.fail('stopped');
    return this.#client.destroy();
  }

  onConnect(): void {}

  onHeaders(status: number, rawHeaders: Buffer[], _resume: () => void, statusText: string): boolean {
    // An informational response comes before the one that counts.
    if (status >= 200) {
      this.status = status;
      this.statusText = statusText;
      this.rawHeaders = rawHeaders;
    }
    return true;
  }

  onData(chunk: Buffer): boolean {
    // undici may have more chunks of a request that has failed.
    if (this.#done === undefined) return true;
    this.bodyBytes += chunk.length;
    if (this.#wantsBody) {
      if (this.bodyBytes > MOST_BODY_BYTES) {
        this.#chunk = NO_BYTES;
        this.#moreChunks = undefined;
        this.fail('body above 64 MiB');
        return true;
      }
      if (this.#chunk.length === 0) this.#chunk = chunk;
      else if (this.#moreChunks === undefined) this.#moreChunks = [this.#chunk, chunk];
      else this.#moreChunks.push(chunk);
    }
    return true;
  }

  onComplete(): void {
    const done = this.#done;
    if (done === undefined) return;
    this.#done = undefined;
    // Before `done`, which often sends the next request: undici takes it up without the pause that it makes before
    // it uses a connection that was idle.
    this.#owner.release(this);
    this.#tell(done);
  }

  onError(error: Error): void {
    // A request that cannot be sent at all fails within `dispatch`.
    if (this.#isSending) setImmediate(() => this.fail(connectionFailure(error)));
    else this.fail(connectionFailure(error));
  }

  #tell(done: HttpDone): void {
    try {
      done(this);
    } catch (error) {
      // Not an error of the connection: undici would take it for one, and hide it.
      setImmediate(() => {
        throw error;
      });
    }
    this.#owner.told();
  }
}
