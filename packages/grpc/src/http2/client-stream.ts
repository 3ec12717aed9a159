import type { IncomingHttpHeaders } from 'node:http2';
import { ERROR_CODE } from './error-code.js';
import { HeldBytes } from './held-bytes.js';
import { MAX_WINDOW_BYTES } from './peer-settings.js';
import { ReceiveWindow } from './receive-window.js';
import type { ReceivedHeaders } from './received-headers.js';

/** What becomes of a stream, in the order in which it is told. */
export interface StreamListener {
  /** `isAll`: neither messages nor trailers follow. */
  responded(headers: IncomingHttpHeaders, isAll: boolean): void;
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
  /** How much of a message may be sent now in one frame. */
  readonly sendableBytes: number;
  sendData(streamId: number, bytes: Buffer, isLast: boolean): void;
  send(frame: Buffer): void;
  reset(streamId: number, errorCode: number): void;
  /** It has something to send: `sendMore` is called as soon as there is room, perhaps at once. */
  waits(stream: ClientStream): void;
  streamClosed(stream: ClientStream): void;
}

const { CANCEL, FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR, STREAM_CLOSED } = ERROR_CODE;
const EMPTY: Buffer = Buffer.alloc(0);
const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;

/** One request and its answer. What a listener is told may be answered by a reset, at any time. */
export class ClientStream {
  readonly id: number;
  readonly #carrier: StreamCarrier;
  readonly #listener: StreamListener;
  readonly #receiveWindow: ReceiveWindow;
  #sendWindow: number;
  #errorCode: number = NO_ERROR;

  // What is to be sent
  #queue: Buffer[] = [];
  #sentOfFirst = 0;
  #endsAfterQueue = false;
  #isAllSent = false;
  #isDrainWanted = false;

  // What has come
  #hasResponse = false;
  #isAllReceived = false;
  #trailers: IncomingHttpHeaders | undefined;
  #isPaused = false;
  readonly #held = new HeldBytes();
  #isEndHeld = false;

  #isClosed = false;
  #isClosedTold = false;

  constructor(
    id: number,
    carrier: StreamCarrier,
    listener: StreamListener,
    windows: { readonly send: number; readonly receive: number },
  ) {
    this.id = id;
    this.#carrier = carrier;
    this.#listener = listener;
    this.#sendWindow = windows.send;
    this.#receiveWindow = new ReceiveWindow(id, windows.receive);
  }

  /** With which it was reset, by whomever; 0 if it was not. */
  get errorCode(): number {
    return this.#errorCode;
  }

  /** Whether the half-close has left, and all before it. */
  get isAllSent(): boolean {
    return this.#isAllSent;
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

  /** As `write`; the half-close travels with the last bytes. */
  end(last: Buffer = EMPTY): boolean {
    if (this.#isClosed || this.#endsAfterQueue) return true;
    if (last.length > 0) this.#queue.push(last);
    this.#endsAfterQueue = true;
    return this.#sendOrWait();
  }

  /** Nothing is heard of it any more, but that it is closed. */
  reset(errorCode: number = CANCEL): void {
    if (this.#isClosed) this.#drop();
    else {
      this.#carrier.reset(this.id, errorCode);
      this.#close(errorCode, false);
    }
  }

  /** What the peer sends is held, up to its window. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused && !this.#held.isEmpty) this.#give(this.#held.shift() as Buffer);
    if (!this.#isPaused && this.#isEndHeld) this.#giveEnd();
    if (this.#isClosed && this.#held.isEmpty && !this.#isEndHeld) this.#tellClosed();
  }

  // From here on: for the connection

  gotHeaders({ errorCode, headers, status }: ReceivedHeaders, isLast: boolean): void {
    if (this.#isAllReceived) this.reset(STREAM_CLOSED);
    else if (errorCode !== NO_ERROR) this.reset(errorCode);
    else if (this.#hasResponse) {
      if (!isLast || status !== 0) this.reset(PROTOCOL_ERROR);
      else this.#gotAll(headers);
    } else if (status === 0 || status === SWITCHING_PROTOCOLS) this.reset(PROTOCOL_ERROR);
    else if (status < FIRST_FINAL_STATUS) {
      if (isLast) this.reset(PROTOCOL_ERROR);
    } else {
      this.#hasResponse = true;
      this.#listener.responded(headers, isLast);
      if (isLast && !this.#isClosed) this.#gotAll(undefined);
    }
  }

  /** `wireBytes` counts the padding, too. */
  gotData(bytes: Buffer, wireBytes: number, isLast: boolean): void {
    if (this.#isAllReceived) this.reset(STREAM_CLOSED);
    else if (!this.#hasResponse) this.reset(PROTOCOL_ERROR);
    else if (!this.#receiveWindow.take(wireBytes)) this.reset(FLOW_CONTROL_ERROR);
    else {
      if (isLast) this.#isAllReceived = true;
      this.#free(wireBytes - bytes.length);
      if (bytes.length > 0) {
        if (this.#isPaused || !this.#held.isEmpty) this.#held.push(bytes);
        else this.#give(bytes);
      }
      if (isLast && !this.#isClosed) this.#gotAll(undefined);
    }
  }

  gotReset(errorCode: number): void {
    this.#close(errorCode, errorCode === NO_ERROR);
  }

  gotWindow(increment: number): void {
    if (increment === 0) this.reset(PROTOCOL_ERROR);
    else if (this.widen(increment)) this.#sendOrWait();
    else this.reset(FLOW_CONTROL_ERROR);
  }

  /** False when that is more than HTTP/2 allows. May be negative. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    return this.#sendWindow <= MAX_WINDOW_BYTES;
  }

  /** One frame; true when another could follow. */
  sendMore(): boolean {
    if (this.#isClosed || this.#isAllSent) return false;
    const first = this.#queue[0];
    if (first === undefined) {
      if (this.#endsAfterQueue) this.#sent(EMPTY, true);
      return false;
    }
    const left = first.length - this.#sentOfFirst;
    const bytes = Math.min(left, this.#sendWindow, this.#carrier.sendableBytes);
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
    return this.#isWaiting && (this.#sendWindow > 0 || this.#queue.length === 0);
  }

  /** A half-close without bytes needs no window, and a peer may wait for it before it opens one. */
  get isOnlyEndLeft(): boolean {
    return this.#isWaiting && this.#queue.length === 0;
  }

  /** Tells it, if it is so, that all has left. */
  checkDrained(): void {
    if (!this.#isDrainWanted || this.#isWaiting || this.#isClosedTold) return;
    this.#isDrainWanted = false;
    this.#listener.drained();
  }

  /** The connection is gone. */
  lost(): void {
    this.#close(CANCEL, false);
  }

  get #isWaiting(): boolean {
    return !this.#isClosed && !this.#isAllSent && (this.#queue.length > 0 || this.#endsAfterQueue);
  }

  #sendOrWait(): boolean {
    if (this.isReadyToSend) this.#carrier.waits(this);
    if (!this.#isWaiting) return true;
    this.#isDrainWanted = true;
    return false;
  }

  #sent(bytes: Buffer, isLast: boolean): void {
    this.#carrier.sendData(this.id, bytes, isLast);
    if (!isLast) return;
    this.#isAllSent = true;
    if (this.#isAllReceived) this.#close(NO_ERROR, true);
  }

  #give(bytes: Buffer): void {
    this.#listener.received(bytes);
    this.#free(bytes.length);
  }

  #free(bytes: number): void {
    if (bytes === 0 || this.#isAllReceived || this.#isClosed) return;
    const frame = this.#receiveWindow.free(bytes);
    if (frame !== undefined) this.#carrier.send(frame);
  }

  #gotAll(trailers: IncomingHttpHeaders | undefined): void {
    this.#isAllReceived = true;
    this.#trailers = trailers;
    this.#isEndHeld = true;
    if (!this.#isPaused && this.#held.isEmpty) this.#giveEnd();
    if (this.#isAllSent && !this.#isClosed) this.#close(NO_ERROR, true);
  }

  #giveEnd(): void {
    this.#isEndHeld = false;
    this.#listener.ended(this.#trailers);
  }

  /** Where all has come, or was meant to, the listener gets what is held before it hears of the end. */
  #close(errorCode: number, isGood: boolean): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#errorCode = errorCode;
    this.#queue = [];
    this.#carrier.streamClosed(this);
    const isHolding = !this.#held.isEmpty || this.#isEndHeld;
    if (!isHolding || !(isGood || this.#isAllReceived)) this.#drop();
  }

  #drop(): void {
    this.#held.clear();
    this.#isEndHeld = false;
    this.#tellClosed();
  }

  #tellClosed(): void {
    if (this.#isClosedTold) return;
    this.#isClosedTold = true;
    this.#listener.closed();
  }
}
