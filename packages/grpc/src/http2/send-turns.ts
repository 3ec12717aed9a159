import { ERROR_CODE } from './error-code.js';
import type { FrameWriter } from './frame-writer.js';
import { Http2Fault } from './http2-fault.js';
import type { SendingStream } from './http2-stream.js';
import { DEFAULT_WINDOW_BYTES, MAX_WINDOW_BYTES, type PeerSettings } from './peer-settings.js';

/** Of a peer that takes larger frames, one would hold up all others, and be far ahead of what the socket takes. */
const MOST_PAYLOAD_BYTES = 64 * 1024;

/**
 * Whose turn it is to send a piece of a message: a frame of each, so that a large message does not hold up the small ones,
 * as far as the connection's window goes and the peer reads on.
 */
export class SendTurns {
  readonly #writer: FrameWriter;
  readonly #settings: PeerSettings;
  readonly #waiting = new Set<SendingStream>();
  #window = DEFAULT_WINDOW_BYTES;
  #isRunning = false;
  #hasNewcomers = false;

  constructor(writer: FrameWriter, settings: PeerSettings) {
    this.#writer = writer;
    this.#settings = settings;
  }

  get isCongested(): boolean {
    return this.#writer.isCongested;
  }

  /** How much one frame may have now. */
  get sendableBytes(): number {
    return this.#writer.isCongested
      ? 0
      : Math.min(this.#window, this.#settings.maxPayloadBytes, MOST_PAYLOAD_BYTES);
  }

  sent(bytes: number): void {
    this.#window -= bytes;
  }

  widen(increment: number): void {
    this.#window += increment;
    if (increment === 0)
      throw new Http2Fault(ERROR_CODE.PROTOCOL_ERROR, 'the peer sent a window update of 0');
    if (this.#window > MAX_WINDOW_BYTES) throw tooWide();
  }

  /** All streams by as much, because the peer's settings have changed. */
  widenStreams(streams: Iterable<SendingStream>, bytes: number): void {
    for (const stream of streams) {
      if (!stream.widen(bytes)) throw tooWide();
      if (stream.isReadyToSend) this.#waiting.add(stream);
    }
  }

  /** It has something to send, and does so now if there is room. */
  add(stream: SendingStream): void {
    this.#waiting.add(stream);
    if (this.sendableBytes > 0) this.runInWindow();
    // Not all of them for each that comes: without room those that wait already cannot send either.
    else if (stream.needsNoWindow && !this.#isRunning) this.#serve(stream);
    if (this.#isRunning) this.#hasNewcomers = true;
  }

  delete(stream: SendingStream): void {
    this.#waiting.delete(stream);
  }

  /** All of them: the peer reads again, or has changed its settings. */
  run(): void {
    this.#run(true);
  }

  /** There is more window. Who needs none has not waited for it, so that a peer cannot have us look at all for each byte. */
  runInWindow(): void {
    this.#run(false);
  }

  #run(includesAll: boolean): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#hasNewcomers = false;
    try {
      for (const stream of this.#waiting) {
        if (this.sendableBytes <= 0) {
          if (!includesAll && !this.#hasNewcomers) break;
          if (!stream.needsNoWindow) continue;
        }
        this.#serve(stream);
      }
    } finally {
      this.#isRunning = false;
    }
  }

  #serve(stream: SendingStream): void {
    this.#waiting.delete(stream);
    let hasMore = stream.sendMore();
    while (hasMore && stream.needsNoWindow) hasMore = stream.sendMore();
    // Behind all others that wait.
    if (hasMore && stream.isReadyToSend) this.#waiting.add(stream);
    stream.checkDrained();
  }
}

function tooWide(): Http2Fault {
  return new Http2Fault(
    ERROR_CODE.FLOW_CONTROL_ERROR,
    'the peer enlarged a window above the limit of HTTP/2',
  );
}
