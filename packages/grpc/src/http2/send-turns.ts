import type { ClientStream } from './client-stream.js';
import { ERROR_CODE } from './error-code.js';
import type { FrameWriter } from './frame-writer.js';
import { Http2Fault } from './http2-fault.js';
import { DEFAULT_WINDOW_BYTES, MAX_WINDOW_BYTES, type PeerSettings } from './peer-settings.js';

/**
 * Whose turn it is to send a piece of a message: a frame of each, so that a large message does not hold up the small ones,
 * as far as the connection's window goes and the peer reads on.
 */
export class SendTurns {
  readonly #writer: FrameWriter;
  readonly #settings: PeerSettings;
  readonly #waiting = new Set<ClientStream>();
  #window = DEFAULT_WINDOW_BYTES;
  #isRunning = false;

  constructor(writer: FrameWriter, settings: PeerSettings) {
    this.#writer = writer;
    this.#settings = settings;
  }

  /** How much one frame may have now. */
  get sendableBytes(): number {
    return this.#writer.isCongested ? 0 : Math.min(this.#window, this.#settings.maxPayloadBytes);
  }

  sent(bytes: number): void {
    this.#window -= bytes;
  }

  widen(increment: number): void {
    this.#window += increment;
    if (increment === 0)
      throw new Http2Fault(ERROR_CODE.PROTOCOL_ERROR, 'the peer widened a window by nothing');
    if (this.#window > MAX_WINDOW_BYTES) throw tooWide();
  }

  /** All streams by as much, because the peer's settings have changed. */
  widenStreams(streams: Iterable<ClientStream>, bytes: number): void {
    for (const stream of streams) {
      if (!stream.widen(bytes)) throw tooWide();
      if (stream.isReadyToSend) this.#waiting.add(stream);
    }
  }

  /** It has something to send, and does so now if there is room. */
  add(stream: ClientStream): void {
    this.#waiting.add(stream);
    if (this.sendableBytes > 0) this.run();
    // Not all of them for each that comes: without room those that wait already cannot send either.
    else if (stream.isOnlyEndLeft && !this.#isRunning) this.#serve(stream);
  }

  delete(stream: ClientStream): void {
    this.#waiting.delete(stream);
  }

  run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      for (const stream of this.#waiting) {
        if (this.sendableBytes <= 0 && !stream.isOnlyEndLeft) continue;
        this.#serve(stream);
      }
    } finally {
      this.#isRunning = false;
    }
  }

  #serve(stream: ClientStream): void {
    this.#waiting.delete(stream);
    // Behind all others that wait.
    if (stream.sendMore() && stream.isReadyToSend) this.#waiting.add(stream);
    stream.checkDrained();
  }
}

function tooWide(): Http2Fault {
  return new Http2Fault(ERROR_CODE.FLOW_CONTROL_ERROR, 'the peer opened a window wider than HTTP/2 allows');
}
