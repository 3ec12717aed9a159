/**
 * One TCP connection to one Redis node, from its opening to its end: it never connects again. Who wants the next one
 * opens it (see `line.ts`), because where to may have changed by then.
 * It takes commands once all of its handshake is answered: where SELECT is refused, none is carried out in database 0.
 */
import { type Clock, realClock } from 'batchwise';
import type { Argument, Reply } from './link.js';
import { LinkLostError, ReplyError } from './link-errors.js';
import { isTemporary } from './reply-verdict.js';
import { blockingMs, SilenceWatch } from './silence-watch.js';
import type { TlsOptions } from './tls-options.js';
import { Wire } from './wire.js';

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
  /** How long Redis may take to reply, and to open the connection; longer, and the connection counts as dead. */
  readonly replyTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

export const DEFAULT_REPLY_TIMEOUT_MS = 5_000;

export class NodeConnection {
  readonly address: Address;
  readonly #wire: Wire;
  readonly #watch: SilenceWatch;
  readonly #lostListeners: ((error: Error) => void)[] = [];
  #hello: ReadonlyMap<string, Reply> = new Map();
  #lost: Error | undefined;
  #isConnected = false;
  #hasReplied = false;
  /** All of its handshake is answered. */
  #isReady = false;
  #isRetired = false;
  #hasServed = false;

  static async open(address: Address, options: NodeOptions, signal?: AbortSignal): Promise<NodeConnection> {
    const connection = new NodeConnection(address, options);
    await connection.#open(options, signal);
    return connection;
  }

  private constructor(address: Address, options: NodeOptions) {
    this.address = address;
    this.#wire = new Wire(address.host, address.port, options.tls, {
      onReply: (isError) => this.#answered(isError),
      onLost: (error) => this.#end(error),
    });
    const { clock = realClock, replyTimeoutMs = DEFAULT_REPLY_TIMEOUT_MS } = options;
    this.#watch = new SilenceWatch(clock, replyTimeoutMs, (error) => this.destroy(error));
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

  /**
   * Rejects with a ReplyError, or with a LinkLostError when it broke before the reply. Throws a TypeError for an argument
   * that is neither text nor bytes: the caller's mistake, and the same the next time.
   */
  send(command: readonly Argument[]): Promise<Reply> {
    if (this.#lost !== undefined) return Promise.reject(this.#lostError(this.#lost));
    const reply = this.#wire.send(command);
    this.#watch.sent(blockingMs(command));
    return reply;
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
    const { clock = realClock, replyTimeoutMs = DEFAULT_REPLY_TIMEOUT_MS, tls } = options;
    const hint = tls ? ' (does the server use TLS?)' : '';
    let isTimedOut = false;
    const onTimeout = () => {
      isTimedOut = true;
      this.destroy(new Error(`no reply within ${replyTimeoutMs / 1000} s${hint}`));
    };
    const timer = clock.setTimer(onTimeout, replyTimeoutMs);
    const onAbort = () => this.destroy();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal?.aborted) throw this.#lostError(new Error('closed by this side'));
      await Promise.race([this.#handshake(options), this.#whenLost()]);
    } catch (error) {
      const reason = this.#lost ?? (error as Error);
      const wasClosed = this.#lost !== undefined && this.#isConnected && !this.#hasReplied;
      this.destroy(reason);
      if (wasClosed && tls === undefined && !isTimedOut && !signal?.aborted) throw closedEarly(reason);
      throw plain(reason);
    } finally {
      clock.clearTimer(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #handshake({ username, password, database, name, replies }: NodeOptions): Promise<void> {
    await this.#wire.connected;
    this.#isConnected = true;
    if (username !== undefined || password !== undefined) {
      const login = ['AUTH', ...(username === undefined ? [] : [username]), password ?? ''];
      await this.#wire.send(login).catch((error: Error) => {
        throw withoutArguments(error);
      });
    }
    if (database !== undefined && database !== 0) await this.#wire.send(['SELECT', String(database)]);
    // HELLO tells number and role, and sets the name, with no permission but the login.
    const hello = await this.#wire.send(['HELLO', '2', 'SETNAME', name.replace(/[^!-~]/g, '-')]);
    this.#hello = pairs(hello as readonly Reply[]);
    // Says LOADING or MASTERDOWN where commands would.
    await this.#wire.send(['PING']).catch((error: Error) => {
      if (!error.message.startsWith('NOPERM')) throw error;
    });
    this.#wire.isText = replies === 'text';
    this.#isReady = true;
  }

  #whenLost(): Promise<never> {
    return new Promise((_, reject) => this.#lostListeners.push(reject));
  }

  #answered(isError: boolean): void {
    this.#hasReplied = true;
    if (!this.#isReady) return;
    this.#hasServed ||= !isError;
    this.#watch.answered();
    if (this.#isRetired && this.#watch.underWay === 0) this.destroy();
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
    this.#wire.destroy(this.#lostError(reason));
    if (this.#isRetired) return;
    for (const listener of this.#lostListeners.splice(0)) listener(reason);
  }
}

/** Whether the reply to a handshake says "not yet" rather than "no". */
export function isNotYet(error: ReplyError): boolean {
  return isTemporary(error) || error.message.startsWith('ERR max number of clients');
}

/** Of an error of the system its code: the address that its message repeats is told anyway. */
export function reasonText(error: Error): string {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return message;
  return syscall === 'getaddrinfo' ? `${code} (unknown host name)` : code;
}

/** Who does not know AUTH (a sentinel of old, or where it was renamed) repeats what came with it: the password. */
function withoutArguments(error: Error): Error {
  if (!(error instanceof ReplyError)) return error;
  return new ReplyError(error.message.replace(/,? with args beginning with.*$/s, ''));
}

/** What a Redis that expects TLS does, as it cannot read the handshake. */
function closedEarly(cause: Error): Error {
  return new Error(`${reasonText(cause)} before the first reply (does the server expect TLS?)`, { cause });
}

function plain(reason: Error): Error {
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
