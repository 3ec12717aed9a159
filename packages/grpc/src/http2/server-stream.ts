import type { Expiring } from '../expiry-line.js';
import { ERROR_CODE } from './error-code.js';
import { type ContentListener, Http2Stream, type StreamCarrier } from './http2-stream.js';
import type { ReceivedRequest } from './received-request.js';
import { OK_FIELDS, OK_TRAILERS } from './usual-answer.js';

/** The connection, as the streams of a server see it. */
export interface ServerStreamCarrier extends StreamCarrier {
  /** The most of a request that is thrown away for a call that has been answered. */
  readonly maxUnwantedBytes: number;
  /** Headers, message and trailers of an answer with status OK, for which there is room. */
  sendUsualAnswer(streamId: number, message: Buffer): void;
  /** The client has broken a rule. */
  charge(): void;
  /** The client has gone back on a call. */
  takenBack(): void;
  /** For requests that nobody reads; false when all of them together have too much. */
  hold(bytes: number): boolean;
  letGo(bytes: number): void;
  /** It is answered, and what is still to come of its request has its time. */
  awaitsEnd(stream: ServerStream): void;
  endCame(stream: ServerStream): void;
}

const { CANCEL, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR, STREAM_CLOSED } = ERROR_CODE;

/** What becomes of a request, in the order in which it is told. */
export interface ServerStreamListener extends ContentListener {
  /** The whole answer has left before the whole request had come; of the request nothing more is told. */
  answered(): void;
}

const NOBODY: ServerStreamListener = { received() {}, ended() {}, drained() {}, answered() {}, closed() {} };

/**
 * One request and its answer, as a server has them. Paused at first, until somebody reads.
 *
 * A call may be answered while its request still comes. Its rest is then thrown away, and is let come as long as it is not
 * beyond measure: a reset would be allowed, but Node's own client, at least up to version 20, never closes a stream that is
 * reset without an error while it sends.
 */
export class ServerStream extends Http2Stream<ServerStreamListener> implements Expiring {
  expiresAt = 0;
  before: Expiring | undefined = undefined;
  after: Expiring | undefined = undefined;
  /** Its call was carried out, and answered as such: not by headers alone. */
  wasOfUse = false;
  readonly #carrier: ServerStreamCarrier;
  /** What is still to come, if the client has said so. */
  #contentLeft: number;
  #hasHead = false;
  #isResetByClient = false;
  #isUnwanted = false;
  #isAwaitingEnd = false;
  #unwantedBytes = 0;

  constructor(
    id: number,
    carrier: ServerStreamCarrier,
    contentBytes: number,
    sendWindowBytes: number,
    receiveWindowBytes: number,
  ) {
    super(id, carrier, NOBODY, sendWindowBytes, receiveWindowBytes);
    this.#carrier = carrier;
    this.#contentLeft = contentBytes;
    this.pause();
  }

  /** Whoever works on the call. */
  listen(listener: ServerStreamListener): void {
    this.listener = listener;
  }

  get headersSent(): boolean {
    return this.#hasHead;
  }

  /** Names and values in turns; with `isAll` there is nothing else to be said. As `write`. */
  respond(fields: readonly string[], isAll: boolean): boolean {
    if (this.isClosed || this.#hasHead) return true;
    this.#hasHead = true;
    return this.begin(fields, isAll);
  }

  /**
   * One message with all that goes around it; without fields and trailers, it is what nearly all answers are.
   * As `write`.
   */
  answer(
    message: Buffer,
    fields: readonly string[] | undefined,
    trailers: readonly string[] | undefined,
  ): boolean {
    if (this.isClosed || this.#hasHead) return true;
    if (fields === undefined && trailers === undefined && this.mayLeaveAtOnce(message.length)) {
      this.#hasHead = true;
      this.wasOfUse = true;
      this.#carrier.sendUsualAnswer(this.id, message);
      this.leftAtOnce(message.length);
      return true;
    }
    this.respond(fields ?? OK_FIELDS, false);
    return this.end(message, trailers ?? OK_TRAILERS);
  }

  override end(last?: Buffer, trailers?: readonly string[]): boolean {
    this.wasOfUse = true;
    return super.end(last, trailers);
  }

  /** The time for the rest of the request is over. */
  expire(): void {
    if (!this.isClosed) this.reset(NO_ERROR);
  }

  // From here on: for the connection

  gotTrailers(trailers: ReceivedRequest, isLast: boolean): void {
    if (this.isAllReceived) this.fail(STREAM_CLOSED);
    else if (trailers.errorCode !== NO_ERROR) this.fail(trailers.errorCode);
    else if (!isLast || !trailers.isTrailers || this.#contentLeft > 0) this.fail(PROTOCOL_ERROR);
    else if (this.#isUnwanted) this.gotUnwantedEnd();
    else this.gotAll(trailers.headers);
  }

  /** `wireBytes` counts the padding, too. */
  gotData(bytes: Buffer, wireBytes: number, isLast: boolean): void {
    if (this.isAllReceived) this.fail(STREAM_CLOSED);
    else if (!this.takeFromWindow(wireBytes)) this.fail(FLOW_CONTROL_ERROR);
    else if (!this.#isContent(bytes.length, isLast)) this.fail(PROTOCOL_ERROR);
    else if (this.#isUnwanted) this.#throwAway(wireBytes, isLast);
    else this.give(bytes, wireBytes, isLast);
  }

  /** It came with its headers alone. */
  gotEnd(): void {
    if (this.#contentLeft > 0) this.fail(PROTOCOL_ERROR);
    else if (this.#isUnwanted) this.gotUnwantedEnd();
    else this.gotAll(undefined);
  }

  gotReset(errorCode: number): void {
    const { isAllSent } = this;
    this.close(errorCode === NO_ERROR ? CANCEL : errorCode, false, true);
    // Of one that is answered, who takes it back takes nothing back.
    if (!isAllSent) this.#carrier.takenBack();
  }

  /** Whether the client itself has said that nothing more will come of it. */
  get isEndedByClient(): boolean {
    return this.isAllReceived || this.#isResetByClient;
  }

  protected override fail(errorCode: number): void {
    this.#carrier.charge();
    this.reset(errorCode);
  }

  protected override allSent(): void {
    super.allSent();
    if (this.isClosed) return;
    this.#isUnwanted = true;
    this.dropHeld();
    this.listener.answered();
    if (this.isClosed) return;
    this.#isAwaitingEnd = true;
    this.#carrier.awaitsEnd(this);
  }

  protected override hold(bytes: number): boolean {
    if (this.#carrier.hold(bytes)) return true;
    this.reset(ENHANCE_YOUR_CALM);
    return false;
  }

  protected override letGo(bytes: number): void {
    this.#carrier.letGo(bytes);
  }

  /** Nobody waits for what is held of a request: it is answered, or nobody wants an answer. */
  protected override close(errorCode: number, _isHeldWanted: boolean, isResetByClient = false): void {
    if (this.isClosed) return;
    this.#isResetByClient = isResetByClient;
    if (this.#isAwaitingEnd) this.#carrier.endCame(this);
    super.close(errorCode, false);
  }

  #isContent(bytes: number, isLast: boolean): boolean {
    if (this.#contentLeft < 0) return true;
    if (bytes > this.#contentLeft) return false;
    this.#contentLeft -= bytes;
    return !isLast || this.#contentLeft === 0;
  }

  #throwAway(wireBytes: number, isLast: boolean): void {
    this.#unwantedBytes += wireBytes;
    if (isLast) this.gotUnwantedEnd();
    else if (this.#unwantedBytes > this.#carrier.maxUnwantedBytes) this.reset(NO_ERROR);
    else this.free(wireBytes);
  }
}
