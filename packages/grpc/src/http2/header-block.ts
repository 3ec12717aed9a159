import { ERROR_CODE } from './error-code.js';
import { Http2Fault } from './http2-fault.js';

const MAX_BLOCK_BYTES = 64 * 1024;
/** A peer that sends empty ones without end would never come to one. */
const MAX_PIECES = 64;

/** A block of headers that came in several frames; between them nothing else may come. */
export class HeaderBlock {
  readonly streamId: number;
  readonly isLast: boolean;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(streamId: number, isLast: boolean, piece: Buffer) {
    this.streamId = streamId;
    this.isLast = isLast;
    this.add(piece);
  }

  get bytes(): Buffer {
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }

  add(piece: Buffer): void {
    // A view would keep all that was read with it.
    this.#pieces.push(Buffer.from(piece));
    this.#bytes += piece.length;
    if (this.#bytes > MAX_BLOCK_BYTES || this.#pieces.length > MAX_PIECES) {
      throw new Http2Fault(
        ERROR_CODE.ENHANCE_YOUR_CALM,
        `expected headers of at most ${MAX_BLOCK_BYTES} bytes in ${MAX_PIECES} frames, got more`,
      );
    }
  }
}
