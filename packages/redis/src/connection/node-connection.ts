/**
 * One TCP connection to one Redis node, from its opening to its end: it never connects again. Who wants the next one
 * opens it (see `line.ts`), because where to may have changed by then.
 *
 * node-redis could reconnect by itself, but it writes the commands that wait together with AUTH and SELECT and before
 * their replies: where SELECT is refused, they are carried out in database 0. Here a connection takes commands once
 * all of its handshake is answered.
 */
import { isIP } from 'node:net';
import { createClient, ErrorReply, RESP_TYPES } from '@redis/client';
import { type Clock, realClock } from 'batchwise';
import type { Argument, Reply } from './link.js';
import { LinkLostError, ReplyError } from './link-errors.js';
import { isTemporary } from './reply-verdict.js';
import { blockingMs, SilenceWatch } from './silence-watch.js';
import type { TlsOptions } from './tls-options.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

export function addressText({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** How a node is talked to, whichever it is. */
export interface NodeOptions {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: number | undefined;
  /** Encrypted when given. */
  readonly tls?: TlsOptions | undefined;
  /** What CLIENT LIST shows. */
  readonly name: string;
  /** Bulk strings as strings or as Buffers. */
  readonly replies: 'text' | 'bytes';
  /** From the first packet to the last reply of the handshake. @default 10 s */
  readonly openingMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

const OPENING_MS = 10_000;
/** A peer that went away without a word is noticed, when nothing is under way, this long and ten probes later. */
const KEEP_ALIVE_MS = 10_000;

type Client = ReturnType<typeof clientFor>;

export class NodeConnection {
  readonly address: Address;
  readonly #client: Client;
  readonly #watch: SilenceWatch;
  readonly #lostListeners: ((error: Error) => void)[] = [];
  #hello: ReadonlyMap<string, Reply> = new Map();
  #lost: Error | undefined;
  #isRetired = false;
  #hasServed = false;

  static async open(address: Address, options: NodeOptions, signal?: AbortSignal): Promise<NodeConnection> {
    const connection = new NodeConnection(address, options);
    await connection.#open(options, signal);
    return connection;
  }

  private constructor(address: Address, options: NodeOptions) {
    this.address = address;
    this.#client = clientFor(address, options);
    // Before it is ready `connect()` tells of errors; listened to all the same, or they would end the process.
    this.#client.on('error', (error: Error) => this.#end(error));
    this.#watch = new SilenceWatch(options.clock ?? realClock, (error) => this.destroy(error));
  }

  /** What Redis calls this connection: CLIENT ID. */
  get id(): string {
    return String(this.#hello.get('id'));
  }

  /** `master` or `replica`; undefined for a sentinel. */
  get role(): string | undefined {
    return this.#hello.get('role') as string | undefined;
  }

  get isOpen(): boolean {
    return this.#lost === undefined;
  }

  /** A command was carried out over it. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  /** Called once, when it breaks; not after `retire()`. */
  onLost(listener: (error: Error) => void): void {
    if (this.#lost === undefined) this.#lostListeners.push(listener);
    else listener(this.#lost);
  }

  /** Rejects with a ReplyError, or with a LinkLostError when it broke before the reply. */
  send(command: readonly Argument[]): Promise<Reply> {
    if (this.#lost !== undefined) return Promise.reject(this.#lostError(this.#lost));
    this.#watch.sent(blockingMs(command));
    return this.#client.sendCommand(command as Argument[]).then(
      (reply: unknown) => {
        this.#hasServed = true;
        this.#answered();
        return reply as Reply;
      },
      (error: Error) => {
        this.#answered();
        throw this.#explain(error);
      },
    );
  }

  /** Takes no further commands; closes when those under way are answered. */
  retire(): void {
    this.#isRetired = true;
    if (this.#watch.underWay === 0) this.destroy();
  }

  /** Closes now; what is under way rejects with a LinkLostError. */
  destroy(reason: Error = new Error('closed by this side')): void {
    this.#end(reason);
  }

  async #open(options: NodeOptions, signal: AbortSignal | undefined): Promise<void> {
    const { clock = realClock, openingMs = OPENING_MS, tls } = options;
    const onTimeout = () =>
      this.destroy(new Error(`no answer within ${openingMs / 1000} s${tls ? ' (does it speak TLS?)' : ''}`));
    const timer = clock.setTimer(onTimeout, openingMs);
    const onAbort = () => this.destroy();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal?.aborted) throw this.#lostError(new Error('closed by this side'));
      await Promise.race([this.#handshake(options), this.#whenLost()]);
      this.#client.ref();
    } catch (error) {
      const reason = this.#lost ?? (error as Error);
      this.destroy(reason);
      throw plain(reason);
    } finally {
      clock.clearTimer(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #handshake({ name }: NodeOptions): Promise<void> {
    // A socket that is still connecting cannot be closed; the timer above keeps the process, not the socket.
    this.#client.unref();
    const connected = this.#client.connect();
    // Without this one that was destroyed while it was connecting would be left open.
    connected.then(
      () => this.#lost !== undefined && this.#client.destroy(),
      () => {},
    );
    await connected;
    // HELLO tells number and role, and sets the name, with no permission but the login.
    const hello = await this.#ask(['HELLO', '2', 'SETNAME', name.replace(/[^!-~]/g, '-')]);
    this.#hello = pairs(hello as readonly Reply[]);
    // Says LOADING or MASTERDOWN where commands would.
    await this.#ask(['PING']).catch((error: Error) => {
      if (!error.message.startsWith('NOPERM')) throw error;
    });
  }

  #ask(command: string[]): Promise<unknown> {
    return this.#client.sendCommand(command, { typeMapping: {} });
  }

  #whenLost(): Promise<never> {
    return new Promise((_, reject) => this.#lostListeners.push(reject));
  }

  #answered(): void {
    this.#watch.answered();
    if (this.#isRetired && this.#watch.underWay === 0) this.destroy();
  }

  #explain(error: Error): Error {
    if (error instanceof ErrorReply) return new ReplyError(error.message);
    // An argument that is neither text nor bytes: the caller's mistake, and the same the next time.
    if (error instanceof TypeError) return error;
    return this.#lostError(error);
  }

  #lostError(cause: Error): LinkLostError {
    return new LinkLostError(
      `The connection to Redis at ${addressText(this.address)} was lost: ${(this.#lost ?? cause).message}.`,
      { cause: this.#lost ?? cause },
    );
  }

  #end(reason: Error): void {
    if (this.#lost !== undefined) return;
    this.#lost = reason;
    this.#watch.stop();
    this.#client.destroy();
    if (this.#isRetired) return;
    for (const listener of this.#lostListeners.splice(0)) listener(reason);
  }
}

/** Whether the reply to a handshake says "not yet" rather than "no". */
export function isNotYet(error: ReplyError): boolean {
  return isTemporary(error) || error.message.startsWith('ERR max number of clients');
}

function clientFor(address: Address, options: NodeOptions) {
  const { username, password, database, tls, replies, openingMs = OPENING_MS } = options;
  return createClient({
    RESP: 2,
    socket: {
      ...address,
      ...(tls === undefined ? {} : encryption(address, tls)),
      reconnectStrategy: false,
      connectTimeout: openingMs,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    },
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    // The default is 5 s for a command to be written, and a timer for each; how long to wait is the callers' to say.
    commandOptions: {
      timeout: 0,
      typeMapping: replies === 'bytes' ? { [RESP_TYPES.BLOB_STRING]: Buffer } : {},
    },
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
}

function encryption({ host }: Address, tls: TlsOptions) {
  const { ca, ...rest } = tls;
  return {
    tls: true as const,
    // The name is not sent to the server unless it is given.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...rest,
    ...(ca === undefined ? {} : { ca: ca as string | Buffer | (string | Buffer)[] }),
  };
}

function plain(reason: Error): Error {
  if (reason instanceof ErrorReply) return new ReplyError(reason.message);
  // Of a host with several addresses, none of which answered, Node says nothing but the code.
  const { message, code } = reason as NodeJS.ErrnoException;
  return message === '' && code !== undefined
    ? Object.assign(new Error(code, { cause: reason }), { code })
    : reason;
}

function pairs(flat: readonly Reply[]): Map<string, Reply> {
  const map = new Map<string, Reply>();
  for (let i = 0; i + 1 < flat.length; i += 2) map.set(String(flat[i]), flat[i + 1] as Reply);
  return map;
}
