/**
 * A socket that speaks RESP 2: commands go out, replies come back in the same order. A command is written before `send`
 * returns: whatever its sender does next, whoever waits for the command does not wait for that.
 */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectEncrypted } from 'node:tls';
import { encodedCommand } from './encoded-command.js';
import type { Argument, Reply } from './link.js';
import { ReplyError } from './link-errors.js';
import { type ParsedReply, ReplyParser } from './reply-parser.js';
import type { TlsOptions } from './tls-options.js';

export interface WireEvents {
  /** After each reply that a command has had; an error is one, too. */
  onReply(isError: boolean): void;
  /** It broke, or could not be made. Called once; not after `destroy()`. */
  onLost(error: Error): void;
}

interface Waiter {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** A peer that went away without a word is noticed, when nothing is under way, this long and ten probes later. */
const KEEP_ALIVE_MS = 10_000;
/** The most that is read at once, which is what Node reads at once. */
const READ_BYTES = 64 * 1024;

export class Wire {
  /** Rejects never: who made it hears `onLost`. */
  readonly connected: Promise<void>;
  readonly #socket: Socket;
  readonly #events: WireEvents;
  readonly #parser = new ReplyParser((reply) => this.#replied(reply));
  readonly #waiting: Waiter[] = [];
  #isOver = false;

  constructor(host: string, port: number, tls: TlsOptions | undefined, events: WireEvents) {
    this.#events = events;
    const socket =
      tls === undefined
        ? connectPlain({ host, port, onread: this.#intoOneBuffer() })
        : connectEncrypted({ host, port, ...encryption(host, tls) });
    this.#socket = socket;
    // Not by the options of `connect`: with TLS these are passed over without a word.
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    this.connected = new Promise((resolve) => {
      socket.once(tls === undefined ? 'connect' : 'secureConnect', resolve);
    });
    if (tls !== undefined) socket.on('data', (chunk) => this.#received(chunk));
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#lose(new Error('Socket closed unexpectedly')));
  }

  /** Bulk strings as text, which is how it begins, or as Buffers. */
  set isText(isText: boolean) {
    this.#parser.isText = isText;
  }

  /** Rejects with a ReplyError, or with what `destroy` was given. Throws a TypeError for an argument that cannot be sent. */
  send(command: readonly Argument[]): Promise<Reply> {
    const pieces = encodedCommand(command);
    const reply = new Promise<Reply>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
    this.#write(pieces);
    return reply;
  }

  /** Closes now; what is under way rejects with this. */
  destroy(error: Error): void {
    this.#isOver = true;
    this.#socket.destroy();
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #write(pieces: readonly Argument[]): void {
    const [first] = pieces;
    if (pieces.length === 1 && first !== undefined) {
      this.#socket.write(first);
      return;
    }
    this.#socket.cork();
    for (const piece of pieces) this.#socket.write(piece);
    this.#socket.uncork();
  }

  /** A buffer for each read, and a stream's way to hand it on, cost more than most replies. */
  #intoOneBuffer() {
    return {
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (count: number, buffer: Uint8Array) => {
        this.#received((buffer as Buffer).subarray(0, count));
        return true;
      },
    };
  }

  #received(chunk: Buffer): void {
    try {
      this.#parser.push(chunk);
    } catch (error) {
      this.#lose(error as Error);
    }
  }

  #replied(reply: ParsedReply): void {
    const waiter = this.#waiting.shift();
    const isError = reply instanceof ReplyError;
    if (waiter === undefined) {
      // The next one's reply would be taken for another's. Redis itself does so when it shuts the door.
      this.#lose(isError ? reply : new Error('Redis sent a reply without a command'));
      return;
    }
    if (isError) waiter.reject(reply);
    else waiter.resolve(reply as Reply);
    this.#events.onReply(isError);
  }

  #lose(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onLost(error);
  }
}

function encryption(host: string, { ca, ...rest }: TlsOptions) {
  return {
    // The name is not sent to the server unless it is given.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...rest,
    ...(ca === undefined ? {} : { ca: ca as string | Buffer | (string | Buffer)[] }),
  };
}
