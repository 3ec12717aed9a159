import type { Socket } from 'node:net';

const JOINED_BYTES = 32 * 1024;
const SMALL_BYTES = 4096;
const CONGESTED_BYTES = 256 * 1024;
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * What goes to the socket: all frames of a turn in one write, so that a call's headers, message and half-close are one
 * packet. Says when messages should wait for the peer to read on; what cannot wait is still taken.
 */
export class FrameWriter {
  readonly #socket: Socket;
  readonly #mostBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isDue = false;

  constructor(socket: Socket, mostBytes: number = MOST_BYTES) {
    this.#socket = socket;
    this.#mostBytes = mostBytes;
  }

  get isCongested(): boolean {
    return this.#bytes + this.#socket.writableLength >= CONGESTED_BYTES;
  }

  /** A peer that reads nothing, but has us answer its pings or send it calls: no memory is worth that. */
  get isFlooded(): boolean {
    return this.#bytes + this.#socket.writableLength >= this.#mostBytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#isDue) return;
    this.#isDue = true;
    process.nextTick(this.flush);
  }

  readonly flush = (): void => {
    this.#isDue = false;
    const chunks = this.#chunks;
    const bytes = this.#bytes;
    if (bytes === 0) return;
    this.#chunks = [];
    this.#bytes = 0;
    const socket = this.#socket;
    if (!socket.writable) return;
    if (chunks.length === 1) socket.write(chunks[0] as Buffer);
    else if (bytes <= JOINED_BYTES) socket.write(joined(chunks, bytes));
    else {
      socket.cork();
      for (const piece of gathered(chunks)) socket.write(piece);
      socket.uncork();
    }
  };
}

/** Large ones as they are, and the small ones between them put together: a socket needs far more for a write than for a frame. */
function gathered(chunks: readonly Buffer[]): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  let bytes = 0;
  for (let at = 0; at <= chunks.length; at++) {
    const chunk = chunks[at];
    if (chunk !== undefined && chunk.length < SMALL_BYTES) {
      bytes += chunk.length;
      continue;
    }
    if (bytes > 0) pieces.push(joined(chunks.slice(from, at), bytes));
    if (chunk !== undefined) pieces.push(chunk);
    from = at + 1;
    bytes = 0;
  }
  return pieces;
}

function joined(chunks: readonly Buffer[], bytes: number): Buffer {
  const all = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
