import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** A socket without a network: what is written is kept, what comes is the test's business (`push`). */
export class FakeSocket extends Duplex {
  readonly writes: Buffer[] = [];
  /** A peer that reads nothing. */
  isStuck = false;

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.writes.push(chunk);
    if (!this.isStuck) callback();
  }

  override _read(): void {}

  setNoDelay(): void {}

  get asSocket(): Socket {
    return this as unknown as Socket;
  }
}
