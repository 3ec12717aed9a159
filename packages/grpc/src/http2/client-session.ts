import type { OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { ClientStream, type StreamListener } from './client-stream.js';
import { ERROR_CODE } from './error-code.js';
import { PREFACE, settingsFrame, windowUpdate } from './frame-encoder.js';
import { requestFields } from './header-fields.js';
import { Http2Fault } from './http2-fault.js';
import type { SendingStream } from './http2-stream.js';
import { DEFAULT_WINDOW_BYTES, PeerSettings, SETTING } from './peer-settings.js';
import { MAX_HEADER_BYTES } from './received-headers.js';
import { ReceivedResponse } from './received-response.js';
import { Session } from './session.js';

export interface ClientSessionOptions {
  readonly streamWindowBytes: number;
  readonly connectionWindowBytes: number;
}

export interface SessionListener {
  /** The peer's settings have come, or have changed. */
  settled(settings: PeerSettings): void;
  goneAway(errorCode: number, lastStreamId: number, data: Buffer): void;
  streamClosed(): void;
  /** The peer has broken the protocol; the connection ends. */
  failed(error: Error): void;
  /** Once, when the socket is closed and every stream has been told. */
  closed(): void;
}

/** HTTP/2 as a client, on a socket of its own. */
export class ClientSession extends Session<ClientStream, ReceivedResponse> {
  readonly #options: ClientSessionOptions;
  readonly #listener: SessionListener;
  #nextStreamId = 1;
  #isStarted = false;

  constructor(socket: Socket, options: ClientSessionOptions, listener: SessionListener) {
    super(socket, {
      settings: new PeerSettings(),
      connectionWindowBytes: options.connectionWindowBytes,
      newHeaders: () => new ReceivedResponse(),
    });
    this.#options = options;
    this.#listener = listener;
  }

  /** Once the socket is connected. */
  start(): void {
    const { streamWindowBytes, connectionWindowBytes } = this.#options;
    this.#isStarted = true;
    this.socket.setNoDelay(true);
    this.writer.push(PREFACE);
    this.writer.push(
      settingsFrame([
        [SETTING.ENABLE_PUSH, 0],
        [SETTING.INITIAL_WINDOW_SIZE, streamWindowBytes],
        // Those who heed it fail a call with more. A block that is far too large would cost all calls their connection.
        [SETTING.MAX_HEADER_LIST_SIZE, MAX_HEADER_BYTES],
      ]),
    );
    this.writer.push(windowUpdate(0, connectionWindowBytes - DEFAULT_WINDOW_BYTES));
  }

  /** As `node:http2` calls it; numbers only go up. */
  setNextStreamID(id: number): void {
    this.#nextStreamId = Math.max(this.#nextStreamId, id);
  }

  /** Throws for headers that are no request's. */
  request(headers: OutgoingHttpHeaders, listener: StreamListener): ClientStream {
    const fields = requestFields(headers);
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const windows = { send: this.settings.windowBytes, receive: this.#options.streamWindowBytes };
    const stream = new ClientStream(id, this, listener, windows);
    this.streams.set(id, stream);
    this.sendHeaders(id, fields, false);
    return stream;
  }

  /** Lets the open streams end, and then the connection. */
  close(): void {
    if (this.isClosing || this.isDestroyed) return;
    this.isClosing = true;
    if (this.streams.size === 0) this.allEnded();
  }

  destroy(errorCode: number = ERROR_CODE.NO_ERROR): void {
    if (this.isDestroyed) return;
    this.isDestroyed = true;
    this.frames.stop();
    if (!this.#isStarted) {
      this.socket.destroy();
      return;
    }
    this.leave(errorCode);
    // A socket waits for its last bytes to be written, for ever if the peer takes none.
    setImmediate(() => setImmediate(() => this.socket.destroy()));
  }

  override streamClosed(stream: SendingStream): void {
    super.streamClosed(stream);
    this.#listener.streamClosed();
  }

  override gotHeaders(streamId: number, headers: ReceivedResponse, isLast: boolean): void {
    this.streamOf(streamId)?.gotHeaders(headers, isLast);
  }

  override gotSettings(payload: Buffer): void {
    super.gotSettings(payload);
    this.#listener.settled(this.settings);
  }

  /** What the peer says that it has not begun is closed; with an error code, all the rest is lost. */
  override goneAway(errorCode: number, lastStreamId: number, data: Buffer): void {
    this.#listener.goneAway(errorCode, lastStreamId, data);
    for (const stream of [...this.streams.values()]) {
      if (stream.id > lastStreamId) stream.gotReset(ERROR_CODE.REFUSED_STREAM);
    }
    if (errorCode === ERROR_CODE.NO_ERROR) this.close();
    else this.destroy();
  }

  protected override streamOf(id: number): ClientStream | undefined {
    if (id % 2 === 0 || id >= this.#nextStreamId) {
      throw new Http2Fault(ERROR_CODE.PROTOCOL_ERROR, `the peer sent a frame for the unknown stream ${id}`);
    }
    return this.streams.get(id);
  }

  protected override allEnded(): void {
    this.leave(ERROR_CODE.NO_ERROR);
  }

  protected override failed(fault: Http2Fault): void {
    this.#listener.failed(fault);
  }

  protected override socketClosed(): void {
    super.socketClosed();
    this.#listener.closed();
  }
}
