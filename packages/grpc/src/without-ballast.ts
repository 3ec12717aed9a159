const SMALL_BYTES = 4096;
const BALLAST_FACTOR = 16;

/**
 * A chunk is a view of everything that one read of the socket brought. A small one that waits in a queue
 * would keep all of that alive, and a client could fill the rest with padding: so a small one is copied.
 */
export function withoutBallast(chunk: Buffer): Buffer {
  return chunk.length < SMALL_BYTES && chunk.buffer.byteLength > BALLAST_FACTOR * chunk.length
    ? Buffer.from(chunk)
    : chunk;
}
