import type { OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { ClientStream, type StreamCarrier, type StreamListener } from './client-stream.js';
import { ERROR_CODE } from './error-code.js';
import {
  frameHead,
  goawayFrame,
  pingFrame,
  preface,
  resetFrame,
  settingsAck,
  windowUpdate,
} from './frame-encoder.js';
import { FLAG, FRAME_TYPE } from './frame-type.js';
import { FrameWriter } from './frame-writer.js';
import { HpackEncoder } from './hpack-encoder.js';
import { Http2Fault } from './http2-fault.js';
import { PeerFrames, type PeerFramesListener } from './peer-frames.js';
import { DEFAULT_WINDOW_BYTES, PeerSettings, SETTING } from './peer-settings.js';
import { ReceiveWindow } from './receive-window.js';
import type { ReceivedHeaders } from './received-headers.js';
import { requestFields } from './request-fields.js';
import { SendTurns } from './send-turns.js';

export interface SessionOptions {
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

/**
 * HTTP/2 as a client, on a socket of its own. However the connection ends, each of its streams is told, once; a peer
 * that breaks the protocol is told by GOAWAY how.
 */
export class ClientSession implements StreamCarrier, PeerFramesListener {
  readonly #socket: Socket;
  readonly #options: SessionOptions;
  readonly #listener: SessionListener;
  readonly #writer: FrameWriter;
  readonly #frames: PeerFrames;
  readonly #hpack = new HpackEncoder();
  readonly #settings = new PeerSettings();
  readonly #streams = new Map<number, ClientStream>();
  readonly #turns: SendTurns;
  readonly #receiveWindow: ReceiveWindow;
  readonly #pings: ((error: null) => void)[] = [];
  #nextStreamId = 1;
  #isStarted = false;
  #isClosing = false;
  #isDestroyed = false;

  constructor(socket: Socket, options: SessionOptions, listener: SessionListener) {
    this.#socket = socket;
    this.#options = options;
    this.#listener = listener;
    this.#writer = new FrameWriter(socket);
    this.#turns = new SendTurns(this.#writer, this.#settings);
    this.#frames = new PeerFrames(this);
    this.#receiveWindow = new ReceiveWindow(0, options.connectionWindowBytes);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('drain', () => this.#turns.run());
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.#socketClosed());
  }

  /** Once the socket is connected. */
  start(): void {
    const { streamWindowBytes, connectionWindowBytes } = this.#options;
    this.#isStarted = true;
    this.#socket.setNoDelay(true);
    this.#writer.push(
      preface([
        [SETTING.ENABLE_PUSH, 0],
        [SETTING.INITIAL_WINDOW_SIZE, streamWindowBytes],
      ]),
    );
    this.#writer.push(windowUpdate(0, connectionWindowBytes - DEFAULT_WINDOW_BYTES));
  }

  /** Its streams are lost, or will be in a moment. */
  get destroyed(): boolean {
    return this.#isDestroyed || this.#socket.destroyed;
  }

  /** It takes no new streams; those that are open may end. */
  get closed(): boolean {
    return this.#isClosing;
  }

  /** As `node:http2` calls it; numbers only go up. */
  setNextStreamID(id: number): void {
    this.#nextStreamId = Math.max(this.#nextStreamId, id);
  }

  /** Throws for headers that are no request's. */
  request(headers: OutgoingHttpHeaders, listener: StreamListener): ClientStream {
    const block = this.#hpack.encode(requestFields(headers));
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const windows = { send: this.#settings.windowBytes, receive: this.#options.streamWindowBytes };
    const stream = new ClientStream(id, this, listener, windows);
    this.#streams.set(id, stream);
    this.#sendHeaders(id, block);
    return stream;
  }

  /** Calls back when the peer has answered it, and else never. */
  ping(callback: (error: null) => void): void {
    this.#pings.push(callback);
    this.send(pingFrame(PING_PAYLOAD, false));
  }

  /** Lets the open streams end, and then the connection. */
  close(): void {
    if (this.#isClosing || this.#isDestroyed) return;
    this.#isClosing = true;
    if (this.#streams.size === 0) this.#leave(ERROR_CODE.NO_ERROR);
  }

  /** Now; the peer is told why, if it reads on. */
  destroy(errorCode: number = ERROR_CODE.NO_ERROR): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#frames.stop();
    if (!this.#isStarted) {
      this.#socket.destroy();
      return;
    }
    this.#leave(errorCode);
    // A socket waits for its last bytes to be written, for ever if the peer takes none.
    setImmediate(() => setImmediate(() => this.#socket.destroy()));
  }

  get sendableBytes(): number {
    return this.#turns.sendableBytes;
  }

  sendData(streamId: number, bytes: Buffer, isLast: boolean): void {
    this.#turns.sent(bytes.length);
    this.#writer.push(frameHead(FRAME_TYPE.DATA, isLast ? FLAG.END_STREAM : 0, streamId, bytes.length));
    if (bytes.length > 0) this.#writer.push(bytes);
  }

  send(frame: Buffer): void {
    if (this.#isDestroyed) return;
    this.#writer.push(frame);
    if (!this.#writer.isFlooded) return;
    this.#fail(new Http2Fault(ERROR_CODE.ENHANCE_YOUR_CALM, 'the peer does not read what it is sent'));
  }

  reset(streamId: number, errorCode: number): void {
    this.send(resetFrame(streamId, errorCode));
  }

  waits(stream: ClientStream): void {
    this.#turns.add(stream);
  }

  streamClosed(stream: ClientStream): void {
    this.#streams.delete(stream.id);
    this.#turns.delete(stream);
    if (this.#isClosing && !this.#isDestroyed && this.#streams.size === 0) this.#leave(ERROR_CODE.NO_ERROR);
    this.#listener.streamClosed();
  }

  gotData(streamId: number, bytes: Buffer, wireBytes: number, isLast: boolean): void {
    if (!this.#receiveWindow.take(wireBytes)) {
      throw new Http2Fault(
        ERROR_CODE.FLOW_CONTROL_ERROR,
        'the peer sent more than the window of the connection',
      );
    }
    // At once: who reads slowly holds up its own stream, not those of others.
    const update = this.#receiveWindow.free(wireBytes);
    if (update !== undefined) this.send(update);
    this.#stream(streamId)?.gotData(bytes, wireBytes, isLast);
  }

  gotHeaders(streamId: number, headers: ReceivedHeaders, isLast: boolean): void {
    this.#stream(streamId)?.gotHeaders(headers, isLast);
  }

  gotReset(streamId: number, errorCode: number): void {
    this.#stream(streamId)?.gotReset(errorCode);
  }

  gotSettings(payload: Buffer): void {
    const settings = this.#settings;
    const before = settings.windowBytes;
    settings.apply(payload);
    this.#hpack.setMaxTableBytes(settings.leastHeaderTableBytes);
    this.#hpack.setMaxTableBytes(settings.headerTableBytes);
    this.send(settingsAck());
    const wider = settings.windowBytes - before;
    if (wider !== 0) {
      this.#turns.widenStreams(this.#streams.values(), wider);
      this.#turns.run();
    }
    this.#listener.settled(settings);
  }

  gotPing(payload: Buffer, isAck: boolean): void {
    if (isAck) this.#pings.shift()?.(null);
    else this.send(pingFrame(payload, true));
  }

  /** What the peer says that it has not begun is closed; with an error code, all the rest is lost. */
  goneAway(errorCode: number, lastStreamId: number, data: Buffer): void {
    this.#listener.goneAway(errorCode, lastStreamId, data);
    for (const stream of [...this.#streams.values()]) {
      if (stream.id > lastStreamId) stream.gotReset(ERROR_CODE.REFUSED_STREAM);
    }
    if (errorCode === ERROR_CODE.NO_ERROR) this.close();
    else this.destroy();
  }

  gotWindow(streamId: number, increment: number): void {
    if (streamId !== 0) {
      this.#stream(streamId)?.gotWindow(increment);
      return;
    }
    this.#turns.widen(increment);
    this.#turns.run();
  }

  #read(chunk: Buffer): void {
    if (this.#isDestroyed) return;
    try {
      this.#frames.push(chunk);
    } catch (error) {
      if (error instanceof Http2Fault) this.#fail(error);
      else {
        // A listener's fault. The rest of the chunk is lost with it, so nothing that follows could be read.
        this.destroy(ERROR_CODE.INTERNAL_ERROR);
        throw error;
      }
    }
  }

  #fail(fault: Http2Fault): void {
    this.#listener.failed(fault);
    this.destroy(fault.errorCode);
  }

  /** Undefined for one that is closed: the peer may not know that yet. */
  #stream(id: number): ClientStream | undefined {
    if (id % 2 === 0 || id >= this.#nextStreamId) {
      throw new Http2Fault(
        ERROR_CODE.PROTOCOL_ERROR,
        `the peer speaks of stream ${id}, which nobody has begun`,
      );
    }
    return this.#streams.get(id);
  }

  #sendHeaders(streamId: number, block: Buffer): void {
    const { maxPayloadBytes } = this.#settings;
    for (let at = 0; at === 0 || at < block.length; at += maxPayloadBytes) {
      const piece = block.subarray(at, at + maxPayloadBytes);
      const type = at === 0 ? FRAME_TYPE.HEADERS : FRAME_TYPE.CONTINUATION;
      const flags = at + maxPayloadBytes < block.length ? 0 : FLAG.END_HEADERS;
      this.#writer.push(frameHead(type, flags, streamId, piece.length));
      this.send(piece);
    }
  }

  #leave(errorCode: number): void {
    this.#writer.push(goawayFrame(errorCode));
    this.#writer.flush();
    this.#socket.end();
  }

  #socketClosed(): void {
    this.#isDestroyed = true;
    this.#frames.stop();
    for (const stream of [...this.#streams.values()]) stream.lost();
    this.#listener.closed();
  }
}

const PING_PAYLOAD = Buffer.alloc(8);
