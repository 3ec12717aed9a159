/**
 * One client's connection: requests come one after another, and answers go back in the order of their requests, whichever
 * is ready first. It ends with the last word said and heard, as far as the client lets it.
 */
import type { Socket } from 'node:net';
import { type ByteShare, noRoom } from '../byte-budget.js';
import { RequestError } from '../request-error.js';
import { type Answer, answerSize, writeAnswer } from './answer-bytes.js';
import { type ExchangeOwner, HttpExchange } from './http-exchange.js';
import type { HttpLimits } from './http-limits.js';
import { NO_BODY, tooLarge } from './request-body.js';
import type { RequestHead } from './request-head.js';
import { RequestReader, type RequestReaderListener } from './request-reader.js';

/** How long a client is listened to after the last word: closed at once, it might not get to read it. */
export const LINGER_MS = 1000;
/** A client that has so many answers to come is not read from until it has got some. */
const MAX_DUE = 128;
/** As many bytes of answers may wait to be read; with more, a client is not read from either. */
const MAX_UNREAD_BYTES = 256 * 1024;
/** Requests of one client that are begun at once. Then it is the turn of others, and of timers. */
const MAX_AT_ONCE = 16;

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const NEVER = Number.POSITIVE_INFINITY;

/** What a connection needs of its server. */
export interface ConnectionOwner extends ExchangeOwner {
  readonly limits: HttpLimits;
  /** A request's head has come; its body may follow. */
  asked(exchange: HttpExchange): void;
  /** Its body has come, or turned out to be none. */
  received(exchange: HttpExchange, error: RequestError | undefined, body: Buffer): void;
  /** The whole answer to what is no request. */
  complaint(refusal: RequestError): string;
  closed(connection: Connection): void;
}

export class Connection implements RequestReaderListener {
  readonly socket: Socket;
  /** What it holds of the server's memory: bodies of requests, and answers. */
  readonly share: ByteShare;
  /** Above the limit: its first request is refused. */
  readonly isRefused: boolean;
  /** By when the client must have done what is expected of it. */
  deadline = NEVER;
  /** The last one on this connection, while it is not answered. */
  newest: HttpExchange | undefined;
  /** Its last answer is on the way, or due: what else comes is not looked at. */
  isClosing = false;
  readonly #owner: ConnectionOwner;
  readonly #reader: RequestReader;
  /** Whose answers have not been written yet, oldest first; several when requests are pipelined. */
  readonly #due: HttpExchange[] = [];
  /** The last one, answered or not, while its body comes. */
  #last: HttpExchange | undefined;
  /** When the first bytes of the head came that is coming. */
  #headSince: number | undefined;
  /** Of answers that are ready and wait for others before them. */
  #dueBytes = 0;
  /** Of answers that wait for that, or to be read by the client, as `share` has them. */
  #unreadBytes = 0;
  /** What another answer is expected to be like. */
  #largestAnswer = 0;
  #isPaused = false;
  #pausedAt = 0;
  #isReading = false;
  #begunAtOnce = 0;
  /** It is read on in the next turn of the event loop, and not before: answers that come at once would go on for ever. */
  #isDeferred = false;
  /** The client has closed its side, with requests that have not been read yet. */
  #hasEnded = false;
  /** Due after all answers, before the end; empty when there is nothing to say. */
  #lastWord: string | undefined;
  /** The last answer has been written. */
  #isLeaving = false;
  #lingering: unknown;

  constructor(socket: Socket, isRefused: boolean, owner: ConnectionOwner) {
    this.socket = socket;
    this.isRefused = isRefused;
    this.share = owner.budget.share();
    this.#owner = owner;
    this.#reader = new RequestReader(owner.limits, this);
    this.#expectHead(owner.clock.now());
    socket.on('data', (bytes: Buffer) => {
      this.#begunAtOnce = 0;
      this.#read(bytes);
    });
    socket.on('end', () => this.#ended());
    socket.on('drain', () => {
      this.#countUnread();
      this.#readOn();
    });
    socket.on('timeout', () => this.#timedOut());
    // 'close' follows.
    socket.on('error', nothing);
    socket.once('close', () => this.#closed());
    if (isRefused) socket.setTimeout(LINGER_MS);
  }

  /** Ends it unless an answer is due. What is left of one that was written goes out first. */
  endIfIdle(): void {
    if (this.#due.length > 0) return;
    if (this.socket.writableLength === 0 && !this.#isPaused) this.socket.destroy();
    else this.#leave();
  }

  /** Tells the client to send the body that it announced. */
  sendContinue(exchange: HttpExchange): void {
    if (this.#due[0] === exchange) {
      if (exchange.isContinueDue) this.#expectBody(this.#owner.clock.now());
      this.socket.write(CONTINUE, 'latin1');
    } else {
      // It is the client who waits.
      this.deadline = NEVER;
      exchange.isContinueDue = true;
    }
  }

  /** It has its answer, which goes out as soon as those before it have. */
  answered(exchange: HttpExchange): void {
    const due = this.#due;
    const bytes = answerSize(exchange.answer as Answer);
    this.#dueBytes += bytes;
    this.#largestAnswer = Math.max(this.#largestAnswer, bytes);
    if (this.newest === exchange) this.newest = undefined;
    if (due[0] !== exchange) {
      this.#countUnread();
      return;
    }
    while (due[0]?.answer !== undefined) this.#write(due.shift() as HttpExchange);
    this.#countUnread();
    if (due[0]?.isContinueDue && due[0].isReceiving) this.sendContinue(due[0]);
    if (due.length === 0) this.#rested();
    if (this.#isPaused) this.#readOn();
  }

  /** The deadline is over. */
  expire(): void {
    // What is missed may have come: nobody reads it at the moment, and that time does not count.
    if (this.#isPaused) return;
    this.deadline = NEVER;
    this.#headSince = undefined;
    if (this.#reader.isInHead || this.#reader.isInBody) {
      this.#complain(new RequestError('REQUEST_TIMEOUT', 'The request did not arrive in time.'));
    } else if (this.#due.length === 0) {
      // A client that is still taking in its answer is not silent; for that there is a time of its own.
      if (this.socket.writableLength === 0) this.socket.destroy();
      else this.#rested();
    }
  }

  // What comes, as the reader tells it

  get mayBegin(): boolean {
    return !this.#isPaused && this.#hasRoomForOne && this.#begunAtOnce < MAX_AT_ONCE;
  }

  /** By the number of answers that are due, and by their bytes as far as they can be known. */
  get #hasRoomForOne(): boolean {
    const { length } = this.#due;
    if (length >= MAX_DUE) return false;
    return length === 0 || this.#unreadBytes + length * this.#largestAnswer < MAX_UNREAD_BYTES;
  }

  get isBodyWanted(): boolean {
    return this.#last?.isSettled === false;
  }

  waits(): void {
    this.#pause();
    if (this.#begunAtOnce < MAX_AT_ONCE || this.#isDeferred) return;
    this.#isDeferred = true;
    this.#owner.clock.defer(() => {
      this.#isDeferred = false;
      this.#begunAtOnce = 0;
      this.#readOn();
    });
  }

  headIsComing(): void {
    if (this.#headSince !== undefined) return;
    this.#headSince = this.#owner.clock.now();
    this.#expectHead(this.#headSince);
  }

  begun(head: RequestHead, isWhole: boolean): void {
    const exchange = new HttpExchange(head, this, this.#owner);
    const since = this.#headSince ?? exchange.startedAt;
    this.#headSince = undefined;
    this.#begunAtOnce += 1;
    if (!head.isKeptAlive) this.isClosing = true;
    this.#due.push(exchange);
    this.#last = exchange;
    this.newest = exchange;
    if (isWhole) {
      exchange.isReceiving = false;
      this.deadline = NEVER;
    } else {
      this.#expectBody(since);
    }
    this.#owner.asked(exchange);
  }

  bodyIsTooLarge(): void {
    this.#owner.received(this.#last as HttpExchange, tooLarge(this.#owner.limits.maxBodyBytes), NO_BODY);
  }

  mayKeep(bytes: number): boolean {
    const exchange = this.#last as HttpExchange;
    const refusal = this.hold(exchange, bytes);
    if (refusal === undefined) return true;
    this.#owner.received(exchange, refusal, NO_BODY);
    return false;
  }

  /** Counts so many bytes for its body, instead of as many as before. Why not, where there is no room. */
  hold(exchange: HttpExchange, bytes: number): RequestError | undefined {
    const more = bytes - exchange.heldBytes;
    if (more > 0 && !this.share.take(more)) return noRoom(this.#owner.budget);
    if (more < 0) this.share.add(more);
    exchange.heldBytes = bytes;
    return undefined;
  }

  completed(body: Buffer): void {
    const exchange = this.#last as HttpExchange;
    this.#last = undefined;
    const wasReceiving = exchange.isReceiving;
    exchange.isReceiving = false;
    if (wasReceiving) this.deadline = NEVER;
    if (!exchange.isSettled) this.#owner.received(exchange, this.hold(exchange, body.length), body);
    else if (!wasReceiving) return;
    else if (this.#isLeaving) this.#hangUp();
    else if (this.#due.length === 0) this.#rested();
  }

  #read(came: Buffer): void {
    this.#isReading = true;
    try {
      this.#reader.push(came);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.#complain(error);
    } finally {
      this.#isReading = false;
    }
  }

  /** What came is no HTTP, too much of it, or too slow. */
  #complain(refusal: RequestError): void {
    const { newest } = this;
    const { isInBody } = this.#reader;
    this.#reader.leaveBody();
    this.deadline = NEVER;
    if (isInBody && newest !== undefined) newest.failAndClose(refusal);
    else if (this.#isLeaving) this.#hangUp();
    else if (!this.isClosing) {
      this.isClosing = true;
      // Whose body it is has been answered already.
      this.#lastWord = isInBody ? '' : this.#owner.complaint(refusal);
      if (this.#due.length === 0) this.#rested();
    }
  }

  #write(exchange: HttpExchange): void {
    const { socket } = this;
    this.#dueBytes -= answerSize(exchange.answer as Answer);
    // Nobody hears it any more.
    if (!socket.writable) return;
    writeAnswer(socket, exchange.answer as Answer);
    if (exchange.isLast) this.#leave();
    if (socket.writableLength === 0) return;
    // A client that does not read its answers must neither hold them in memory for ever nor get more of them.
    socket.setTimeout(this.#owner.limits.keepAliveTimeoutMs);
    if (socket.writableNeedDrain && !this.#isLeaving) this.#pause();
  }

  /** What is left of little is on its way, and nothing is told of its end. */
  #countUnread(): void {
    const { writableNeedDrain, writableLength } = this.socket;
    // Of a socket that is ended, `writableNeedDrain` is always false.
    const isUnread = writableNeedDrain || this.#isLeaving;
    const unread = this.#dueBytes + (isUnread ? writableLength : 0);
    if (unread === this.#unreadBytes) return;
    this.share.add(unread - this.#unreadBytes);
    this.#unreadBytes = unread;
  }

  /** All is answered. */
  #rested(): void {
    if (this.#lastWord !== undefined) {
      if (this.#lastWord !== '') this.socket.write(this.#lastWord);
      this.#leave();
    } else if (!this.#reader.isInBody && !this.isClosing && this.#headSince === undefined) {
      this.deadline = this.#owner.clock.now() + (this.#owner.limits.keepAliveTimeoutMs || NEVER);
    }
  }

  /**
   * The client may be in the middle of sending. To close now would reset the connection under the answer, so what comes
   * is dropped, and the end follows when the client has had time to read.
   */
  #leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.isClosing = true;
    this.#reader.forgetRest();
    this.#isPaused = false;
    this.socket.resume();
    const { clock } = this.#owner;
    this.#lingering = clock.setTimer(() => this.socket.destroySoon(), LINGER_MS);
    if (!this.#reader.isInBody) this.#hangUp();
  }

  #hangUp(): void {
    this.socket.end();
  }

  /** Who closes its side has gone: of a process that has died nothing else is heard. */
  #ended(): void {
    // Nothing is being worked on: it was too slow to take its answers, and what it asked lies here unread.
    if (this.#isPaused && this.#due.length === 0) this.#hasEnded = true;
    else this.socket.destroySoon();
  }

  /** The client takes nothing of its answers; or has nothing to say where it is to be refused. */
  #timedOut(): void {
    const { socket } = this;
    // It has taken all since, of which nobody is told where it was little.
    if (socket.writableLength === 0 && !this.isRefused) socket.setTimeout(0);
    else socket.destroy();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#pausedAt = this.#owner.clock.now();
    this.socket.pause();
  }

  #readOn(): void {
    const { socket } = this;
    if (socket.writableLength === 0) socket.setTimeout(0);
    if (!this.#isPaused || this.#isReading || this.#isDeferred) return;
    if (socket.writableNeedDrain || !this.#hasRoomForOne) return;
    this.#isPaused = false;
    this.deadline += this.#owner.clock.now() - this.#pausedAt;
    socket.resume();
    this.#read(NO_BODY);
    if (this.#hasEnded && !this.#isPaused) socket.destroySoon();
  }

  #expectHead(since: number): void {
    const { headersTimeoutMs, receiveTimeoutMs } = this.#owner.limits;
    // A head is part of what must have been received.
    this.deadline = since + Math.min(headersTimeoutMs || NEVER, receiveTimeoutMs || NEVER);
  }

  #expectBody(since: number): void {
    this.deadline = since + (this.#owner.limits.receiveTimeoutMs || NEVER);
  }

  #closed(): void {
    this.#owner.clock.clearTimer(this.#lingering);
    this.deadline = NEVER;
    this.isClosing = true;
    for (const exchange of this.#due.splice(0)) exchange.gone();
    this.share.add(-this.#unreadBytes);
    this.#unreadBytes = 0;
    this.#owner.closed(this);
  }
}

function nothing(): void {}
