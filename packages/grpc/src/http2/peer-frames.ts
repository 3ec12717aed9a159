import { ERROR_CODE } from './error-code.js';
import { FrameDecoder } from './frame-decoder.js';
import { PING_BYTES } from './frame-encoder.js';
import { FLAG, FRAME_TYPE } from './frame-type.js';
import { HeaderBlock } from './header-block.js';
import { HpackDecoder } from './hpack-decoder.js';
import { Http2Fault } from './http2-fault.js';
import { withoutPadding } from './padding.js';
import type { ReceivedHeaders } from './received-headers.js';

export interface PeerFramesListener<Headers extends ReceivedHeaders> {
  gotData(streamId: number, bytes: Buffer, wireBytes: number, isLast: boolean): void;
  gotHeaders(streamId: number, headers: Headers, isLast: boolean): void;
  gotReset(streamId: number, errorCode: number): void;
  gotSettings(payload: Buffer): void;
  gotSettingsAck(): void;
  gotPing(payload: Buffer, isAck: boolean): void;
  goneAway(errorCode: number, lastStreamId: number, data: Buffer): void;
  gotWindow(streamId: number, increment: number): void;
  /** A priority, or a frame of an extension, which HTTP/2 has us pass over. */
  gotUseless(): void;
}

const { FRAME_SIZE_ERROR, PROTOCOL_ERROR } = ERROR_CODE;
const NUMBER_BYTES = 4;
const GOAWAY_BYTES = 8;
const PRIORITY_BYTES = 5;
const UNSIGNED_31 = 0x7fffffff;

/**
 * Reads what a peer sends: bytes in, frames out that are of the right length, on the right kind of stream and in a place
 * where they may be, with their headers decoded. Throws `Http2Fault` for any other.
 */
export class PeerFrames<Headers extends ReceivedHeaders> {
  readonly #listener: PeerFramesListener<Headers>;
  readonly #newHeaders: () => Headers;
  readonly #decoder: FrameDecoder;
  readonly #hpack = new HpackDecoder();
  #hasSettings = false;
  #block: HeaderBlock | undefined;

  constructor(listener: PeerFramesListener<Headers>, newHeaders: () => Headers) {
    this.#listener = listener;
    this.#newHeaders = newHeaders;
    this.#decoder = new FrameDecoder((type, flags, streamId, payload) => {
      this.#got(type, flags, streamId, payload);
    });
  }

  push(chunk: Buffer): void {
    try {
      this.#decoder.push(chunk);
    } catch (error) {
      if (this.#hasSettings || !(error instanceof Http2Fault)) throw error;
      throw new Http2Fault(error.errorCode, `the peer does not seem to use HTTP/2: ${error.message}`);
    }
  }

  /** Nothing is told any more, not even of what has been pushed. */
  stop(): void {
    this.#decoder.stop();
  }

  #got(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#hasSettings && type !== FRAME_TYPE.SETTINGS) throw notAllowed('a frame before its settings');
    if (this.#block !== undefined && type !== FRAME_TYPE.CONTINUATION) {
      throw notAllowed('a frame within a header block');
    }
    switch (type) {
      case FRAME_TYPE.DATA:
        checkStream(streamId);
        this.#listener.gotData(
          streamId,
          withoutPadding(flags, payload, false),
          payload.length,
          (flags & FLAG.END_STREAM) !== 0,
        );
        break;
      case FRAME_TYPE.HEADERS:
        checkStream(streamId);
        this.#gotHeaders(flags, streamId, withoutPadding(flags, payload, true));
        break;
      case FRAME_TYPE.CONTINUATION:
        this.#gotContinuation(flags, streamId, payload);
        break;
      case FRAME_TYPE.RST_STREAM:
        checkStream(streamId);
        checkLength(payload, NUMBER_BYTES);
        this.#listener.gotReset(streamId, payload.readUInt32BE(0));
        break;
      case FRAME_TYPE.SETTINGS:
        this.#gotSettings(flags, streamId, payload);
        break;
      case FRAME_TYPE.PUSH_PROMISE:
        throw notAllowed('a push promise, which is not allowed');
      case FRAME_TYPE.PING:
        checkConnection(streamId);
        checkLength(payload, PING_BYTES);
        this.#listener.gotPing(payload, (flags & FLAG.ACK) !== 0);
        break;
      case FRAME_TYPE.GOAWAY:
        checkConnection(streamId);
        if (payload.length < GOAWAY_BYTES) checkLength(payload, GOAWAY_BYTES);
        this.#listener.goneAway(
          payload.readUInt32BE(NUMBER_BYTES),
          payload.readUInt32BE(0) & UNSIGNED_31,
          payload.subarray(GOAWAY_BYTES),
        );
        break;
      case FRAME_TYPE.WINDOW_UPDATE:
        checkLength(payload, NUMBER_BYTES);
        this.#listener.gotWindow(streamId, payload.readUInt32BE(0) & UNSIGNED_31);
        break;
      case FRAME_TYPE.PRIORITY:
        checkStream(streamId);
        checkLength(payload, PRIORITY_BYTES);
        this.#listener.gotUseless();
        break;
      default:
        this.#listener.gotUseless();
    }
  }

  #gotSettings(flags: number, streamId: number, payload: Buffer): void {
    checkConnection(streamId);
    if ((flags & FLAG.ACK) !== 0) {
      checkLength(payload, 0);
      if (!this.#hasSettings) throw notAllowed('an acknowledgement before its settings');
      this.#listener.gotSettingsAck();
      return;
    }
    this.#hasSettings = true;
    this.#listener.gotSettings(payload);
  }

  #gotHeaders(flags: number, streamId: number, piece: Buffer): void {
    const isLast = (flags & FLAG.END_STREAM) !== 0;
    if ((flags & FLAG.END_HEADERS) !== 0) this.#decode(streamId, piece, isLast);
    else this.#block = new HeaderBlock(streamId, isLast, piece);
  }

  #gotContinuation(flags: number, streamId: number, piece: Buffer): void {
    const block = this.#block;
    if (block === undefined || block.streamId !== streamId)
      throw notAllowed('a continuation without headers');
    block.add(piece);
    if ((flags & FLAG.END_HEADERS) === 0) return;
    this.#block = undefined;
    this.#decode(streamId, block.bytes, block.isLast);
  }

  #decode(streamId: number, block: Buffer, isLast: boolean): void {
    const received = this.#newHeaders();
    this.#hpack.decode(block, received.add);
    this.#listener.gotHeaders(streamId, received, isLast);
  }
}

function checkStream(streamId: number): void {
  if (streamId === 0) throw notAllowed('a frame without a stream');
}

function checkConnection(streamId: number): void {
  if (streamId !== 0) throw notAllowed('a connection frame on a stream');
}

function checkLength(payload: Buffer, bytes: number): void {
  if (payload.length === bytes) return;
  throw new Http2Fault(FRAME_SIZE_ERROR, `expected a frame of ${bytes} bytes, got ${payload.length}`);
}

function notAllowed(what: string): Http2Fault {
  return new Http2Fault(PROTOCOL_ERROR, `the peer violated HTTP/2: it sent ${what}`);
}
