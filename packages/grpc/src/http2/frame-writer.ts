import type { Socket } from 'node:net';

const JOINED_BYTES = 32 * 1024;
const CONGESTED_BYTES = 256 * 1024;
const MOST_BYTES = 16 * 1024 * 1024;

/**
 * What goes to the socket: all frames of a turn in one write, so that a call's headers, message and half-close are one
 * packet. Says when messages should wait for the peer to read on; what cannot wait is still taken.
 */
export class FrameWriter {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isDue = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get isCongested(): boolean {
    return this.#bytes + this.#socket.writableLength >= CONGESTED_BYTES;
  }

  /** A peer that reads nothing, but has us answer its pings or send it calls: no memory is worth that. */
  get isFlooded(): boolean {
    return this.#bytes + this.#socket.writableLength >= MOST_BYTES;
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
      for (const chunk of chunks) socket.write(chunk);
      socket.uncork();
    }
  };
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
