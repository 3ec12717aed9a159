import type { Socket } from 'node:net';
import { ERROR_CODE } from './error-code.js';
import { frameHead, goawayFrame, pingFrame, resetFrame, settingsAck } from './frame-encoder.js';
import { FLAG, FRAME_TYPE } from './frame-type.js';
import { FrameWriter } from './frame-writer.js';
import { HpackEncoder } from './hpack-encoder.js';
import { Http2Fault } from './http2-fault.js';
import type { SendingStream, StreamCarrier } from './http2-stream.js';
import { PeerFrames, type PeerFramesListener } from './peer-frames.js';
import type { PeerSettings } from './peer-settings.js';
import { ReceiveWindow } from './receive-window.js';
import type { ReceivedHeaders } from './received-headers.js';
import { SendTurns } from './send-turns.js';

/** What one end has its own way. */
export interface SessionOptions<Headers extends ReceivedHeaders> {
  readonly settings: PeerSettings;
  readonly connectionWindowBytes: number;
  /** What a peer may leave unread before it is given up. */
  readonly mostUnreadBytes?: number;
  newHeaders(): Headers;
}

/** A stream, as its connection tells it what has come. */
export interface ReceivingStream extends SendingStream {
  gotData(bytes: Buffer, wireBytes: number, isLast: boolean): void;
  gotReset(errorCode: number): void;
  gotWindow(increment: number): void;
  lost(): void;
}

/**
 * What both ends of a connection have in common: frames in and out, windows, pings, settings. However the connection ends,
 * each of its streams is told, once; a peer that breaks the protocol is told by GOAWAY how.
 */
export abstract class Session<Stream extends ReceivingStream, Headers extends ReceivedHeaders>
  implements StreamCarrier, PeerFramesListener<Headers>
{
  protected readonly socket: Socket;
  protected readonly writer: FrameWriter;
  protected readonly hpack = new HpackEncoder();
  protected readonly settings: PeerSettings;
  protected readonly streams = new Map<number, Stream>();
  protected isClosing = false;
  protected isDestroyed = false;
  protected readonly frames: PeerFrames<Headers>;
  protected readonly turns: SendTurns;
  readonly #receiveWindow: ReceiveWindow;
  readonly #pings: ((error: null) => void)[] = [];

  constructor(socket: Socket, options: SessionOptions<Headers>) {
    this.socket = socket;
    this.settings = options.settings;
    this.writer = new FrameWriter(socket, options.mostUnreadBytes);
    this.turns = new SendTurns(this.writer, options.settings);
    this.frames = new PeerFrames(this, options.newHeaders);
    this.#receiveWindow = new ReceiveWindow(0, options.connectionWindowBytes);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('drain', () => this.turns.run());
    socket.on('end', () => socket.destroy());
    socket.on('close', () => this.socketClosed());
  }

  /** Its streams are lost, or will be in a moment. */
  get destroyed(): boolean {
    return this.isDestroyed || this.socket.destroyed;
  }

  /** It takes no new streams; those that are open may end. */
  get closed(): boolean {
    return this.isClosing;
  }

  /** Calls back when the peer has answered it, and else never. */
  ping(callback: (error: null) => void): void {
    this.#pings.push(callback);
    this.send(pingFrame(PING_PAYLOAD, false));
  }

  /** Now; the peer is told why, if it reads on. */
  abstract destroy(errorCode?: number): void;

  get isCongested(): boolean {
    return this.turns.isCongested;
  }

  get sendableBytes(): number {
    return this.turns.sendableBytes;
  }

  sendHeaders(streamId: number, fields: readonly string[], isLast: boolean): void {
    const block = this.hpack.encode(fields);
    const { maxPayloadBytes } = this.settings;
    const endStream = isLast ? FLAG.END_STREAM : 0;
    for (let at = 0; at === 0 || at < block.length; at += maxPayloadBytes) {
      const piece = block.subarray(at, at + maxPayloadBytes);
      const type = at === 0 ? FRAME_TYPE.HEADERS : FRAME_TYPE.CONTINUATION;
      const endHeaders = at + maxPayloadBytes < block.length ? 0 : FLAG.END_HEADERS;
      this.writer.push(frameHead(type, endHeaders | (at === 0 ? endStream : 0), streamId, piece.length));
      this.send(piece);
    }
  }

  sendData(streamId: number, bytes: Buffer, isLast: boolean): void {
    this.turns.sent(bytes.length);
    this.writer.push(frameHead(FRAME_TYPE.DATA, isLast ? FLAG.END_STREAM : 0, streamId, bytes.length));
    if (bytes.length > 0) this.writer.push(bytes);
  }

  send(frame: Buffer): void {
    if (this.isDestroyed) return;
    this.writer.push(frame);
    if (!this.writer.isFlooded) return;
    this.fail(new Http2Fault(ERROR_CODE.ENHANCE_YOUR_CALM, 'the peer does not read the data sent to it'));
  }

  reset(streamId: number, errorCode: number): void {
    this.send(resetFrame(streamId, errorCode));
  }

  waits(stream: SendingStream): void {
    this.turns.add(stream);
  }

  streamClosed(stream: SendingStream): void {
    this.streams.delete(stream.id);
    this.turns.delete(stream);
    if (this.isClosing && !this.isDestroyed && this.streams.size === 0) this.allEnded();
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
    this.streamOfContent(streamId, isLast)?.gotData(bytes, wireBytes, isLast);
  }

  abstract gotHeaders(streamId: number, headers: Headers, isLast: boolean): void;

  gotReset(streamId: number, errorCode: number): void {
    this.streamOf(streamId)?.gotReset(errorCode);
  }

  gotSettings(payload: Buffer): void {
    const { settings, hpack, turns } = this;
    const before = settings.windowBytes;
    settings.apply(payload);
    hpack.setMaxTableBytes(settings.leastHeaderTableBytes);
    hpack.setMaxTableBytes(settings.headerTableBytes);
    this.send(settingsAck());
    const wider = settings.windowBytes - before;
    if (wider === 0) return;
    turns.widenStreams(this.streams.values(), wider);
    turns.run();
  }

  gotSettingsAck(): void {}

  gotPing(payload: Buffer, isAck: boolean): void {
    if (isAck) this.#pings.shift()?.(null);
    else this.send(pingFrame(payload, true));
  }

  abstract goneAway(errorCode: number, lastStreamId: number, data: Buffer): void;

  gotWindow(streamId: number, increment: number): void {
    if (streamId !== 0) {
      this.streamOf(streamId)?.gotWindow(increment);
      return;
    }
    this.turns.widen(increment);
    this.turns.runInWindow();
  }

  gotUseless(): void {}

  // From here on: for the two ends

  /** Undefined for one that is closed: the peer may not know that yet. Throws for one that nobody has begun. */
  protected abstract streamOf(id: number): Stream | undefined;

  /** As `streamOf`, for a frame that one that has half-closed may not send. */
  protected streamOfContent(id: number, _isLast: boolean): Stream | undefined {
    return this.streamOf(id);
  }

  /** It is closing, and its last stream has ended. */
  protected abstract allEnded(): void;

  /** The peer has broken the protocol; the connection ends. */
  protected abstract failed(fault: Http2Fault): void;

  protected fail(fault: Http2Fault): void {
    this.failed(fault);
    this.destroy(fault.errorCode);
  }

  protected receive(chunk: Buffer): void {
    this.frames.push(chunk);
  }

  /** Further bytes of a connection that has ended. */
  protected readLate(_chunk: Buffer): void {}

  protected leave(errorCode: number, lastStreamId = 0): void {
    this.writer.push(goawayFrame(errorCode, lastStreamId));
    this.writer.flush();
    this.socket.end();
  }

  protected socketClosed(): void {
    this.isDestroyed = true;
    this.frames.stop();
    this.loseStreams();
  }

  protected loseStreams(): void {
    for (const stream of [...this.streams.values()]) stream.lost();
  }

  #read(chunk: Buffer): void {
    if (this.isDestroyed) {
      this.readLate(chunk);
      return;
    }
    try {
      this.receive(chunk);
    } catch (error) {
      if (error instanceof Http2Fault) this.fail(error);
      else {
        // A listener's fault. The rest of the chunk is lost with it, so nothing that follows could be read.
        this.destroy(ERROR_CODE.INTERNAL_ERROR);
        throw error;
      }
    }
  }
}

const PING_PAYLOAD = Buffer.alloc(8);
