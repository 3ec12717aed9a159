/** Tells when a file has changed, however editors go about it. */
import { readFileSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { realClock } from 'batchwise';

/** Editors write in several steps: by then they are done. */
const SETTLE_MS = 100;

/** The folder is watched, because many editors put a new file in the place of the old one. */
export function watchFile(file: string, onChange: () => void): () => void {
  const path = resolve(file);
  let known = contentOf(path);
  let timer: unknown;
  const look = () => {
    const content = contentOf(path);
    // One that is gone is about to be written anew.
    if (content === undefined || content === known) return;
    known = content;
    onChange();
  };
  const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
    if (name !== null && name !== basename(path)) return;
    realClock.clearTimer(timer);
    timer = realClock.setTimer(look, SETTLE_MS);
  });
  watcher.on('error', () => watcher.close());
  return () => {
    realClock.clearTimer(timer);
    watcher.close();
  };
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
