import type { Socket } from 'node:net';
import { Allowance } from './allowance.js';
import { CutOffStreams } from './cut-off-streams.js';
import { ERROR_CODE } from './error-code.js';
import { goawayFrame, PREFACE, settingsFrame, windowUpdate } from './frame-encoder.js';
import { Http2Fault } from './http2-fault.js';
import type { SendingStream } from './http2-stream.js';
import { DEFAULT_WINDOW_BYTES, PeerSettings, SETTING } from './peer-settings.js';
import { ReceivedRequest } from './received-request.js';
import { ServerStream, type ServerStreamCarrier } from './server-stream.js';
import { Session } from './session.js';
import { OK_FIELDS, OK_TRAILERS, usualAnswer } from './usual-answer.js';

export interface ServerSessionOptions {
  readonly streamWindowBytes: number;
  readonly connectionWindowBytes: number;
  readonly maxStreams: number;
  /** What clients are told; whether they keep to it is seen by whoever gets their requests. */
  readonly maxHeaderBytes: number;
  /** The most of a request that is thrown away for a call that has been answered. */
  readonly maxUnwantedBytes: number;
  now(): number;
}

/** What the connections of one server share. */
export interface ServerSessionHost {
  hold(bytes: number): boolean;
  letGo(bytes: number): void;
  awaitsEnd(stream: ServerStream): void;
  endCame(stream: ServerStream): void;
}

export interface ServerSessionListener {
  /** The client's first settings have come: it speaks HTTP/2. */
  greeted(): void;
  /** A request. Who takes it listens to the stream from now on. */
  opened(stream: ServerStream, request: ReceivedRequest): void;
  /** The client has broken the protocol; the connection ends. */
  failed(error: Error): void;
  /** All is said; the client has still to take it, and to close its end. */
  left(isGraceful: boolean): void;
  /** Once, when the socket is closed and every stream has been told. */
  closed(): void;
}

const { ENHANCE_YOUR_CALM, NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM, STREAM_CLOSED } = ERROR_CODE;

/** Calls that are taken back, or broken, at once and a second: as nghttp2 has it. Each that is of use makes up for one. */
const MOST_RESETS = 1000;
const RESETS_PER_SECOND = 33;
/**
 * Pings, priorities and empty frames, which a client can send without end and which have us work. Each frame of a message
 * makes up for one: there are clients that measure the connection by a ping for each answer.
 */
const MOST_USELESS = 10_000;
const USELESS_PER_SECOND = 1000;
/** Each of them may have us look at all streams. */
const MOST_SETTINGS = 1000;
const SETTINGS_PER_SECOND = 10;
/** Answers wait when a client does not read; what does not wait are pings, settings and resets that it provokes. */
const MOST_UNREAD_BYTES = 1024 * 1024;
/**
 * Calls of one client that are begun before it is the turn of others: a socket that has more to read is read 32 times in a
 * turn of the event loop, 2 MiB of calls that took 230 ms.
 */
const MOST_AT_ONCE = 128;
/** Thrown away of what a client still sends, so that it reads why it was closed instead of failing to write. */
const MOST_LATE_BYTES = 16 * 1024 * 1024;

/** HTTP/2 as a server, on the socket of one client. */
export class ServerSession extends Session<ServerStream, ReceivedRequest> implements ServerStreamCarrier {
  readonly #options: ServerSessionOptions;
  readonly #host: ServerSessionHost;
  readonly #listener: ServerSessionListener;
  readonly #resets: Allowance;
  readonly #useless: Allowance;
  readonly #settings: Allowance;
  readonly #cutOff = new CutOffStreams();
  #prefaceBytes = 0;
  #isGreeted = false;
  #isAcknowledged = false;
  /** The highest that the client has named, and the highest that was taken. */
  #lastStreamId = 0;
  #lastServedId = 0;
  /** Of which only the request has not ended. */
  readonly #answered = new Set<ServerStream>();
  #lateBytes = 0;
  #begunAtOnce = 0;

  constructor(
    socket: Socket,
    options: ServerSessionOptions,
    host: ServerSessionHost,
    listener: ServerSessionListener,
  ) {
    super(socket, {
      settings: new PeerSettings(true),
      connectionWindowBytes: options.connectionWindowBytes,
      mostUnreadBytes: MOST_UNREAD_BYTES,
      newHeaders: () => new ReceivedRequest(),
    });
    this.#options = options;
    this.#host = host;
    this.#listener = listener;
    const now = () => options.now();
    this.#resets = new Allowance(MOST_RESETS, RESETS_PER_SECOND, now);
    this.#useless = new Allowance(MOST_USELESS, USELESS_PER_SECOND, now);
    this.#settings = new Allowance(MOST_SETTINGS, SETTINGS_PER_SECOND, now);
    this.writer.push(
      settingsFrame([
        [SETTING.MAX_CONCURRENT_STREAMS, options.maxStreams],
        [SETTING.INITIAL_WINDOW_SIZE, options.streamWindowBytes],
        [SETTING.MAX_HEADER_LIST_SIZE, options.maxHeaderBytes],
      ]),
    );
    this.writer.push(windowUpdate(0, options.connectionWindowBytes - DEFAULT_WINDOW_BYTES));
  }

  get openStreams(): number {
    return this.streams.size;
  }

  get maxUnwantedBytes(): number {
    return this.#options.maxUnwantedBytes;
  }

  /**
   * GOAWAY with the number of the last call that is served; those above it the client knows never to have begun. Open ones
   * may end, and then the connection does. One GOAWAY is enough: a first one that only asks for no more calls would have
   * some clients wait for a ping before they believe it.
   */
  close(): void {
    if (this.isClosing || this.isDestroyed) return;
    this.isClosing = true;
    if (this.#isAllAnswered) this.allEnded();
    else this.writer.push(goawayFrame(NO_ERROR, this.#lastServedId));
  }

  destroy(errorCode: number = NO_ERROR): void {
    if (!this.isDestroyed) this.#end(errorCode, false);
  }

  sendUsualAnswer(streamId: number, message: Buffer): void {
    if (!this.hpack.isInStep) {
      // The next block of headers has to tell of the table, so it is written as any other is.
      this.sendHeaders(streamId, OK_FIELDS, false);
      this.sendData(streamId, message, false);
      this.sendHeaders(streamId, OK_TRAILERS, true);
      return;
    }
    this.#useless.giveBack();
    this.turns.sent(message.length);
    for (const bytes of usualAnswer(streamId, message)) this.writer.push(bytes);
  }

  override sendData(streamId: number, bytes: Buffer, isLast: boolean): void {
    this.#useless.giveBack();
    super.sendData(streamId, bytes, isLast);
  }

  charge(): void {
    if (this.isDestroyed || this.#resets.take()) return;
    this.fail(new Http2Fault(ENHANCE_YOUR_CALM, 'the client resets too many calls'));
  }

  /**
   * Where a backend hangs, honest clients take back hundreds a second, when their time is up. So the connection takes no more
   * calls, and they have to come on another; those that are open have done nothing wrong.
   */
  takenBack(): void {
    if (!this.isClosing && !this.#resets.take()) this.close();
  }

  hold(bytes: number): boolean {
    return this.#host.hold(bytes);
  }

  letGo(bytes: number): void {
    this.#host.letGo(bytes);
  }

  awaitsEnd(stream: ServerStream): void {
    this.#answered.add(stream);
    this.#host.awaitsEnd(stream);
    this.#endIfAllAnswered();
  }

  endCame(stream: ServerStream): void {
    this.#answered.delete(stream);
    this.#host.endCame(stream);
  }

  override streamClosed(stream: SendingStream): void {
    const { isEndedByClient, wasOfUse, errorCode } = stream as ServerStream;
    if (!isEndedByClient) this.#cutOff.add(stream.id);
    else if (wasOfUse && errorCode === NO_ERROR) this.#resets.giveBack();
    super.streamClosed(stream);
    this.#endIfAllAnswered();
  }

  override gotHeaders(streamId: number, request: ReceivedRequest, isLast: boolean): void {
    if (streamId % 2 === 0) throw unknownStream(streamId);
    this.#begunAtOnce += 1;
    if (this.#begunAtOnce === MOST_AT_ONCE) this.#readOnLater();
    if (streamId > this.#lastStreamId) this.#open(streamId, request, isLast);
    else this.streamOfContent(streamId, isLast)?.gotTrailers(request, isLast);
  }

  override gotData(streamId: number, bytes: Buffer, wireBytes: number, isLast: boolean): void {
    if (bytes.length === 0 && !isLast) this.gotUseless();
    else this.#useless.giveBack();
    super.gotData(streamId, bytes, wireBytes, isLast);
  }

  override gotReset(streamId: number, errorCode: number): void {
    const stream = this.streamOf(streamId);
    if (stream === undefined) this.#cutOff.delete(streamId);
    else stream.gotReset(errorCode);
  }

  override gotSettings(payload: Buffer): void {
    if (!this.#settings.take()) throw tooMuch('settings');
    super.gotSettings(payload);
    if (this.#isGreeted || this.isDestroyed) return;
    this.#isGreeted = true;
    this.#listener.greeted();
  }

  override gotSettingsAck(): void {
    this.#isAcknowledged = true;
  }

  override gotPing(payload: Buffer, isAck: boolean): void {
    this.gotUseless();
    super.gotPing(payload, isAck);
  }

  override gotUseless(): void {
    if (!this.#useless.take()) throw tooMuch('frames without effect');
  }

  #readOnLater(): void {
    this.socket.pause();
    setImmediate(() => {
      this.#begunAtOnce = 0;
      this.socket.resume();
    });
  }

  /** It begins no more calls; with an error code, it gives up those that are open, too. */
  override goneAway(errorCode: number): void {
    if (errorCode === NO_ERROR) this.close();
    else {
      this.#listener.failed(new Error(`the client cancelled the call with HTTP/2 error code ${errorCode}`));
      this.destroy();
    }
  }

  protected override streamOf(id: number): ServerStream | undefined {
    if (id % 2 === 0 || id > this.#lastStreamId) throw unknownStream(id);
    return this.streams.get(id);
  }

  protected override streamOfContent(id: number, isLast: boolean): ServerStream | undefined {
    const stream = this.streamOf(id);
    if (stream !== undefined) return stream;
    if (!this.#cutOff.has(id)) {
      throw new Http2Fault(STREAM_CLOSED, `the client sent a frame for stream ${id} after its end`);
    }
    if (isLast) this.#cutOff.delete(id);
    return undefined;
  }

  protected override receive(chunk: Buffer): void {
    if (this.#prefaceBytes === PREFACE.length) super.receive(chunk);
    else this.#receivePreface(chunk);
  }

  protected override readLate(chunk: Buffer): void {
    this.#lateBytes += chunk.length;
    if (this.#lateBytes > MOST_LATE_BYTES) this.socket.destroy();
  }

  protected override allEnded(): void {
    this.#end(NO_ERROR, true);
  }

  protected override failed(fault: Http2Fault): void {
    this.#listener.failed(fault);
  }

  protected override socketClosed(): void {
    super.socketClosed();
    this.#listener.closed();
  }

  get #isAllAnswered(): boolean {
    return this.streams.size === this.#answered.size;
  }

  #endIfAllAnswered(): void {
    if (this.isClosing && !this.isDestroyed && this.#isAllAnswered) this.allEnded();
  }

  #end(errorCode: number, isGraceful: boolean): void {
    this.isDestroyed = true;
    this.frames.stop();
    this.leave(errorCode, this.#lastServedId);
    this.loseStreams();
    this.#listener.left(isGraceful);
  }

  #receivePreface(chunk: Buffer): void {
    const from = this.#prefaceBytes;
    const taken = Math.min(PREFACE.length - from, chunk.length);
    if (chunk.compare(PREFACE, from, from + taken, 0, taken) !== 0) {
      throw new Http2Fault(PROTOCOL_ERROR, 'the client does not use HTTP/2');
    }
    this.#prefaceBytes += taken;
    if (taken < chunk.length) super.receive(chunk.subarray(taken));
  }

  #open(id: number, request: ReceivedRequest, isLast: boolean): void {
    this.#lastStreamId = id;
    if (!request.isRequest) {
      this.#refuse(id, request.errorCode === NO_ERROR ? PROTOCOL_ERROR : request.errorCode, isLast);
      this.charge();
    } else if (this.isClosing || !this.#hasRoom()) {
      this.#refuse(id, REFUSED_STREAM, isLast);
      // It need not know yet that there may be no more.
      if (this.isClosing || !this.#isAcknowledged) this.gotUseless();
      else this.charge();
    } else {
      const { streamWindowBytes } = this.#options;
      const { windowBytes } = this.settings;
      const stream = new ServerStream(id, this, request.contentBytes, windowBytes, streamWindowBytes);
      this.#lastServedId = id;
      this.streams.set(id, stream);
      this.#listener.opened(stream, request);
      if (isLast && !stream.isClosed) stream.gotEnd();
    }
  }

  /**
   * Some clients, as that of Go, take a call for ended by its answer, and leave its request as it is without a word. One that
   * begins more calls than may be open is such a client: the oldest of those requests makes room.
   */
  #hasRoom(): boolean {
    const { maxStreams } = this.#options;
    if (this.streams.size < maxStreams) return true;
    const [oldest] = this.#answered;
    oldest?.expire();
    return this.streams.size < maxStreams && !this.isDestroyed;
  }

  #refuse(id: number, errorCode: number, isLast: boolean): void {
    if (!isLast) this.#cutOff.add(id);
    this.reset(id, errorCode);
  }
}

function tooMuch(what: string): Http2Fault {
  return new Http2Fault(ENHANCE_YOUR_CALM, `the client sends too many ${what}`);
}

function unknownStream(id: number): Http2Fault {
  return new Http2Fault(PROTOCOL_ERROR, `the client sent a frame for stream ${id}, which is not open`);
}
