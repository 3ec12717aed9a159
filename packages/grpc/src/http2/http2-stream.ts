import type { IncomingHttpHeaders } from 'node:http2';
import { ERROR_CODE } from './error-code.js';
import { HeldBytes } from './held-bytes.js';
import { MAX_WINDOW_BYTES } from './peer-settings.js';
import { ReceiveWindow } from './receive-window.js';

/** What becomes of a stream, in the order in which it is told. */
export interface ContentListener {
  received(chunk: Buffer): void;
  /** The peer has said everything, with these trailers at the end of it. */
  ended(trailers: IncomingHttpHeaders | undefined): void;
  /** All that was written has left, after `write` or `end` said that it had not. */
  drained(): void;
  /** Once, and nothing after it. */
  closed(): void;
}

/** The connection, as its streams see it. */
export interface StreamCarrier {
  /** The peer does not read what it has been sent already; headers wait for that as well. */
  readonly isCongested: boolean;
  /** How much of a message may be sent now in one frame. */
  readonly sendableBytes: number;
  sendHeaders(streamId: number, fields: readonly string[], isLast: boolean): void;
  sendData(streamId: number, bytes: Buffer, isLast: boolean): void;
  send(frame: Buffer): void;
  reset(streamId: number, errorCode: number): void;
  /** It has something to send: `sendMore` is called as soon as there is room, perhaps at once. */
  waits(stream: SendingStream): void;
  streamClosed(stream: SendingStream): void;
}

/** A stream as those see it who take turns in sending. */
export interface SendingStream {
  readonly id: number;
  readonly isReadyToSend: boolean;
  readonly needsNoWindow: boolean;
  sendMore(): boolean;
  widen(bytes: number): boolean;
  checkDrained(): void;
}

const { CANCEL, FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR } = ERROR_CODE;
const EMPTY: Buffer = Buffer.alloc(0);

/**
 * What streams of both ends have in common: what is to be sent, within the peer's windows, and what has come, as fast as it
 * is wanted. What a listener is told may be answered by a reset, at any time.
 */
export abstract class Http2Stream<Listener extends ContentListener> implements SendingStream {
  readonly id: number;
  protected readonly carrier: StreamCarrier;
  protected listener: Listener;
  readonly #receiveWindow: ReceiveWindow;
  #sendWindow: number;
  #errorCode: number = NO_ERROR;

  // What is to be sent
  #head: readonly string[] | undefined = undefined;
  #isHeadAll = false;
  #queue: Buffer[] = [];
  #sentOfFirst = 0;
  #endsAfterQueue = false;
  #tail: readonly string[] | undefined = undefined;
  #isAllSent = false;
  #isDrainWanted = false;

  // What has come
  #isAllReceived = false;
  #trailers: IncomingHttpHeaders | undefined = undefined;
  #isPaused = false;
  #held: HeldBytes | undefined = undefined;
  #isEndHeld = false;

  #isClosed = false;
  #isClosedTold = false;

  constructor(
    id: number,
    carrier: StreamCarrier,
    listener: Listener,
    sendWindowBytes: number,
    receiveWindowBytes: number,
  ) {
    this.id = id;
    this.carrier = carrier;
    this.listener = listener;
    this.#sendWindow = sendWindowBytes;
    this.#receiveWindow = new ReceiveWindow(id, receiveWindowBytes);
  }

  /** With which it was reset, by whomever; 0 if it was not. */
  get errorCode(): number {
    return this.#errorCode;
  }

  /** Whether the half-close has left, and all before it. */
  get isAllSent(): boolean {
    return this.#isAllSent;
  }

  /** Whether the peer has half-closed it. */
  get isAllReceived(): boolean {
    return this.#isAllReceived;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** False when some of it waits for the peer; `drained` tells when it does not any more. */
  write(bytes: Buffer): boolean {
    if (this.#isClosed || this.#endsAfterQueue) return true;
    if (bytes.length > 0) this.#queue.push(bytes);
    return this.#sendOrWait();
  }

  /** As `write`; the half-close travels with the last bytes, or with these trailers. */
  end(last: Buffer = EMPTY, trailers?: readonly string[]): boolean {
    if (this.#isClosed || this.#endsAfterQueue) return true;
    if (last.length > 0) this.#queue.push(last);
    this.#tail = trailers;
    this.#endsAfterQueue = true;
    return this.#sendOrWait();
  }

  /** Nothing is heard of it any more, but that it is closed. */
  reset(errorCode: number = CANCEL): void {
    if (this.#isClosed) this.#drop();
    else {
      this.carrier.reset(this.id, errorCode);
      this.close(errorCode, this.#isAllReceived);
    }
  }

  /** What the peer sends is held, up to its window. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused && this.#isHolding) this.#give(this.#shiftHeld());
    if (!this.#isPaused && this.#isEndHeld) this.#giveEnd();
    if (this.#isClosed && !this.#isHolding && !this.#isEndHeld) this.#tellClosed();
  }

  // From here on: for the connection

  gotWindow(increment: number): void {
    if (increment === 0) this.fail(PROTOCOL_ERROR);
    else if (this.widen(increment)) this.#sendOrWait();
    else this.fail(FLOW_CONTROL_ERROR);
  }

  /** False when that is more than HTTP/2 allows. May be negative. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    return this.#sendWindow <= MAX_WINDOW_BYTES;
  }

  /** One frame; true when another could follow. */
  sendMore(): boolean {
    if (this.#isClosed || this.#isAllSent) return false;
    if (this.#head !== undefined) return this.#sendHead(this.#head);
    const first = this.#queue[0];
    if (first === undefined) {
      if (this.#endsAfterQueue) this.#sent(EMPTY, true);
      return false;
    }
    const left = first.length - this.#sentOfFirst;
    const bytes = Math.min(left, this.#sendWindow, this.carrier.sendableBytes);
    if (bytes <= 0) return false;
    const isRest = bytes === left;
    const piece =
      isRest && this.#sentOfFirst === 0
        ? first
        : first.subarray(this.#sentOfFirst, this.#sentOfFirst + bytes);
    this.#sendWindow -= bytes;
    this.#sentOfFirst = isRest ? 0 : this.#sentOfFirst + bytes;
    if (isRest) this.#queue.shift();
    this.#sent(piece, this.#endsAfterQueue && this.#queue.length === 0);
    return this.#isWaiting;
  }

  /** Has something to send for which there is room in its own window. */
  get isReadyToSend(): boolean {
    return this.#isWaiting && (this.#sendWindow > 0 || this.#queue.length === 0 || this.#head !== undefined);
  }

  /** Headers and a half-close without bytes need no window, and a peer may wait for them before it opens one. */
  get needsNoWindow(): boolean {
    if (!this.#isWaiting || (this.#queue.length > 0 && this.#head === undefined)) return false;
    return (this.#head === undefined && this.#tail === undefined) || !this.carrier.isCongested;
  }

  /** Tells it, if it is so, that all has left. */
  checkDrained(): void {
    if (!this.#isDrainWanted || this.#isWaiting || this.#isClosedTold) return;
    this.#isDrainWanted = false;
    this.listener.drained();
  }

  /** The connection is gone. */
  lost(): void {
    this.close(CANCEL, this.#isAllReceived);
  }

  // From here on: for the two ends

  /** The peer has broken a rule that costs it this stream only. */
  protected fail(errorCode: number): void {
    this.reset(errorCode);
  }

  /** Everything has left from here. */
  protected allSent(): void {
    if (this.#isAllReceived) this.close(NO_ERROR, true);
  }

  /** False when there is no room for it. */
  protected hold(_bytes: number): boolean {
    return true;
  }

  protected letGo(_bytes: number): void {}

  /** Headers before everything else; with `isAll` there is nothing else. */
  protected begin(fields: readonly string[], isAll: boolean): boolean {
    this.#head = fields;
    this.#isHeadAll = isAll;
    if (isAll) this.#endsAfterQueue = true;
    return this.#sendOrWait();
  }

  /** Whether so many bytes may leave at once, before which nothing waits. */
  protected mayLeaveAtOnce(bytes: number): boolean {
    return (
      this.#head === undefined &&
      this.#queue.length === 0 &&
      bytes <= this.#sendWindow &&
      bytes <= this.carrier.sendableBytes
    );
  }

  /** The whole answer has left, with so many bytes of a message. */
  protected leftAtOnce(bytes: number): void {
    this.#sendWindow -= bytes;
    this.#endsAfterQueue = true;
    this.#isAllSent = true;
    this.allSent();
  }

  /** Within the window, and counted there. */
  protected takeFromWindow(wireBytes: number): boolean {
    return this.#receiveWindow.take(wireBytes);
  }

  protected give(bytes: Buffer, wireBytes: number, isLast: boolean): void {
    if (isLast) this.#isAllReceived = true;
    this.free(wireBytes - bytes.length);
    if (bytes.length > 0) {
      if (this.#isPaused || this.#isHolding) this.#holdOn(bytes);
      else this.#give(bytes);
    }
    if (isLast && !this.#isClosed) this.gotAll(undefined);
  }

  /** There is room for as much again. */
  protected free(bytes: number): void {
    if (bytes === 0 || this.#isAllReceived || this.#isClosed) return;
    const frame = this.#receiveWindow.free(bytes);
    if (frame !== undefined) this.carrier.send(frame);
  }

  protected gotAll(trailers: IncomingHttpHeaders | undefined): void {
    this.#isAllReceived = true;
    this.#trailers = trailers;
    this.#isEndHeld = true;
    if (!this.#isPaused && !this.#isHolding) this.#giveEnd();
    if (this.#isAllSent && !this.#isClosed) this.close(NO_ERROR, true);
  }

  /** As `gotAll`, of what nobody wants to hear any more. */
  protected gotUnwantedEnd(): void {
    this.#isAllReceived = true;
    this.close(NO_ERROR, false);
  }

  /** With `isHeldWanted` the listener gets what is held before it hears of the end. */
  protected close(errorCode: number, isHeldWanted: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#errorCode = errorCode;
    this.#queue = [];
    this.#head = undefined;
    this.#tail = undefined;
    this.carrier.streamClosed(this);
    if (!isHeldWanted || !(this.#isHolding || this.#isEndHeld)) this.#drop();
  }

  /** Nobody wants what is held. */
  protected dropHeld(): void {
    const held = this.#held;
    this.#isEndHeld = false;
    if (held === undefined) return;
    this.#held = undefined;
    const { bytes } = held;
    this.letGo(bytes);
    this.free(bytes);
  }

  get #isWaiting(): boolean {
    return (
      !this.#isClosed &&
      !this.#isAllSent &&
      (this.#queue.length > 0 || this.#endsAfterQueue || this.#head !== undefined)
    );
  }

  get #isHolding(): boolean {
    return this.#held !== undefined && !this.#held.isEmpty;
  }

  #sendOrWait(): boolean {
    if (this.isReadyToSend) this.carrier.waits(this);
    if (!this.#isWaiting) return true;
    this.#isDrainWanted = true;
    return false;
  }

  #sendHead(fields: readonly string[]): boolean {
    this.#head = undefined;
    this.carrier.sendHeaders(this.id, fields, this.#isHeadAll);
    if (this.#isHeadAll && !this.#isClosed) {
      this.#isAllSent = true;
      this.allSent();
    }
    return this.#isWaiting;
  }

  #sent(bytes: Buffer, isLast: boolean): void {
    const tail = this.#tail;
    const endsHere = isLast && tail === undefined;
    if (endsHere || bytes.length > 0) this.carrier.sendData(this.id, bytes, endsHere);
    if (!isLast) return;
    if (tail !== undefined) this.carrier.sendHeaders(this.id, tail, true);
    if (this.#isClosed) return;
    this.#isAllSent = true;
    this.allSent();
  }

  #holdOn(bytes: Buffer): void {
    if (!this.hold(bytes.length)) return;
    this.#held ??= new HeldBytes();
    this.#held.push(bytes);
  }

  #shiftHeld(): Buffer {
    const bytes = (this.#held as HeldBytes).shift() as Buffer;
    this.letGo(bytes.length);
    return bytes;
  }

  #give(bytes: Buffer): void {
    this.listener.received(bytes);
    this.free(bytes.length);
  }

  #giveEnd(): void {
    this.#isEndHeld = false;
    this.listener.ended(this.#trailers);
  }

  #drop(): void {
    this.dropHeld();
    this.#tellClosed();
  }

  #tellClosed(): void {
    if (this.#isClosedTold) return;
    this.#isClosedTold = true;
    this.listener.closed();
  }
}
