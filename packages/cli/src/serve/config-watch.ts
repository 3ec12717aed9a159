/** Reports changes of a file, however editors write it. */
import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { realClock } from 'batchwise';

/** Editors write in several steps. */
const SETTLE_MS = 100;

/**
 * Watches the folder, because many editors replace the file. Every event in the folder triggers a comparison, because
 * the file may be a link to a file that changed.
 */
export function watchFile(file: string, onChange: () => void, log: (line: string) => void): () => void {
  const path = resolve(file);
  // A pipe does not change, and reading it may block.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) return () => {};
  let known = contentOf(path);
  let timer: unknown;
  const look = () => {
    timer = undefined;
    const content = contentOf(path);
    // An editor is about to write a deleted file again.
    if (content === undefined || content === known) return;
    known = content;
    onChange();
  };
  const giveUp = (error: Error) =>
    log(`Changes of ${file} are not detected (${error.message}). SIGHUP reloads it.`);
  let watcher: FSWatcher;
  try {
    watcher = watch(dirname(path), { persistent: false }, () => {
      // Not restarted by the next event, because in some folders events never stop.
      timer ??= realClock.setTimer(look, SETTLE_MS);
    });
  } catch (error) {
    giveUp(error as Error);
    return () => {};
  }
  watcher.on('error', (error) => {
    giveUp(error);
    watcher.close();
  });
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
