import type { Clock } from 'batchwise';
import { ExpiryLine } from './expiry-line.js';
import { FairPool } from './fair-pool.js';
import { PREFIX_BYTES } from './frame.js';
import { FrameReader } from './frame-reader.js';
import { GrpcError } from './grpc-error.js';
import type { GrpcServerLimits } from './server-limits.js';
import { STATUS } from './status.js';
import { withoutBallast } from './without-ballast.js';

/**
 * What the requests of one server share that have not come completely: their time, and the bytes they hold, of which each
 * connection has a fair share.
 */
export class UnfinishedRequests {
  readonly maxMessageBytes: number;
  readonly line: ExpiryLine;
  /** Of those that have been answered before they had come. */
  readonly unwantedLine: ExpiryLine;
  readonly #limits: GrpcServerLimits;
  readonly #held = new FairPool<object>();
  readonly #unread = new FairPool<object>();

  constructor(clock: Clock, limits: GrpcServerLimits) {
    this.#limits = limits;
    this.maxMessageBytes = limits.maxMessageBytes;
    this.line = new ExpiryLine(clock, limits.unfinishedMs);
    this.unwantedLine = new ExpiryLine(clock, limits.unfinishedMs);
  }

  get heldBytes(): number {
    return this.#held.used;
  }

  get lateError(): GrpcError {
    const { unfinishedMs } = this.#limits;
    return new GrpcError(STATUS.DEADLINE_EXCEEDED, `expected a complete request within ${unfinishedMs} ms`);
  }

  /**
   * For a stream that is not read; false when its connection, or all of them together, hold too much. They may do so without
   * end, as long as a client and its backend wait for each other: half of the room is for messages that have their time.
   */
  tryHold(connection: object, bytes: number): boolean {
    const { maxUnfinishedBytes } = this.#limits;
    if (!this.#unread.hasRoom(connection, bytes, maxUnfinishedBytes / 2)) return false;
    if (!this.#held.hasRoom(connection, bytes, maxUnfinishedBytes)) return false;
    this.#unread.take(connection, bytes);
    this.#held.take(connection, bytes);
    return true;
  }

  /** What `tryHold` has taken. */
  letGo(connection: object, bytes: number): void {
    this.#unread.giveBack(connection, bytes);
    this.#held.giveBack(connection, bytes);
  }

  clear(): void {
    this.line.clear();
    this.unwantedLine.clear();
  }

  /** Throws when the connection, or all of them together, hold too much. */
  hold(connection: object, bytes: number): void {
    if (bytes <= 0) {
      this.release(connection, -bytes);
      return;
    }
    const hasRoom = this.#held.hasRoom(connection, bytes, this.#limits.maxUnfinishedBytes);
    this.#held.take(connection, bytes);
    if (hasRoom) return;
    throw new GrpcError(
      STATUS.RESOURCE_EXHAUSTED,
      'too many bytes of incomplete messages: the connection has used its share of maxUnfinishedBytes ' +
        `(${this.#limits.maxUnfinishedBytes} bytes for all connections)`,
    );
  }

  release(connection: object, bytes: number): void {
    if (bytes !== 0) this.#held.giveBack(connection, bytes);
  }
}

export interface UnaryRequestListener {
  complete(frame: Buffer): void;
  /** May come after `complete` never, before it once. */
  broken(error: GrpcError): void;
}

/** Reads the one message of a unary call up to the half-close. */
export class UnaryRequest {
  readonly #shared: UnfinishedRequests;
  readonly #connection: object;
  readonly #listener: UnaryRequestListener;
  #frame: Buffer | undefined = undefined;
  #reader: FrameReader | undefined = undefined;
  #heldBytes = 0;
  #isOver = false;

  constructor(shared: UnfinishedRequests, connection: object, listener: UnaryRequestListener) {
    this.#shared = shared;
    this.#connection = connection;
    this.#listener = listener;
  }

  /** Nobody waits for it any more: what comes is thrown away. */
  drop(): void {
    this.#isOver = true;
    this.#frame = undefined;
    this.#reader = undefined;
    this.#shared.release(this.#connection, this.#heldBytes);
    this.#heldBytes = 0;
  }

  received(chunk: Buffer): void {
    if (this.#isOver) return;
    // Nearly always the whole request is one chunk, and that chunk is the frame.
    if (this.#frame === undefined && this.#reader === undefined && this.#isOneFrame(chunk)) {
      this.#frame = withoutBallast(chunk);
      return;
    }
    try {
      this.#reader ??= new FrameReader(this.#shared.maxMessageBytes, (frame) => this.#took(frame));
      this.#reader.push(chunk);
      const { heldBytes } = this.#reader;
      const further = heldBytes - this.#heldBytes;
      this.#heldBytes = heldBytes;
      this.#shared.hold(this.#connection, further);
    } catch (error) {
      this.#broken(error);
    }
  }

  #took(frame: Buffer): void {
    if (this.#frame !== undefined) {
      throw new GrpcError(STATUS.UNIMPLEMENTED, 'expected one message in a unary call, got a second one');
    }
    this.#frame = withoutBallast(frame);
  }

  ended(): void {
    if (this.#isOver) return;
    const frame = this.#frame;
    if (this.#reader?.isBetweenFrames === false) {
      this.#broken(new GrpcError(STATUS.INTERNAL, 'the request ended within a message'));
    } else if (frame === undefined) {
      this.#broken(new GrpcError(STATUS.UNIMPLEMENTED, 'expected one message in a unary call, got none'));
    } else {
      this.drop();
      this.#listener.complete(frame);
    }
  }

  #broken(error: unknown): void {
    this.drop();
    this.#listener.broken(
      error instanceof GrpcError ? error : new GrpcError(STATUS.INTERNAL, String(error), { cause: error }),
    );
  }

  #isOneFrame(chunk: Buffer): boolean {
    if (chunk.length < PREFIX_BYTES || (chunk[0] as number) > 1) return false;
    const messageBytes = chunk.length - PREFIX_BYTES;
    return messageBytes <= this.#shared.maxMessageBytes && chunk.readUInt32BE(1) === messageBytes;
  }
}
