/** Where the unix sockets of one server lie: a folder that only its user can enter. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BatchwiseError } from 'batchwise';

/** What the kernel takes, on the system that takes least. */
const MAX_PATH_BYTES = 103;

export class SocketFolder {
  readonly path: string;

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), 'batchwise-'));
  }

  /** Numbered, not named: a runner's name may be longer than a path may be. */
  socket(index: number): string {
    const socket = join(this.path, `${index}.sock`);
    const bytes = Buffer.byteLength(socket);
    if (bytes <= MAX_PATH_BYTES) return socket;
    throw new BatchwiseError(
      'INVALID_OPTION',
      `The path of a unix socket may have ${MAX_PATH_BYTES} bytes, ${socket} has ${bytes}. Set TMPDIR to a shorter one.`,
    );
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
