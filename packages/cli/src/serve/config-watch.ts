/** Tells when a file has changed, however editors go about it. */
import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { realClock } from 'batchwise';

/** Editors write in several steps: by then they are done. */
const SETTLE_MS = 100;

/**
 * The folder is watched, because many editors put a new file in the place of the old one; and whatever
 * happens in it is a reason to look, because the file may be a link to where something happened.
 */
export function watchFile(file: string, onChange: () => void, log: (line: string) => void): () => void {
  const path = resolve(file);
  // A pipe does not change, and who looks into it may wait for ever.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) return () => {};
  let known = contentOf(path);
  let timer: unknown;
  const look = () => {
    timer = undefined;
    const content = contentOf(path);
    // One that is gone is about to be written anew.
    if (content === undefined || content === known) return;
    known = content;
    onChange();
  };
  const giveUp = (error: Error) =>
    log(`Changes of ${file} are not noticed (${error.message}): SIGHUP makes it be read again.`);
  let watcher: FSWatcher;
  try {
    watcher = watch(dirname(path), { persistent: false }, () => {
      // Not anew each time: in a folder where something always happens, nobody would ever look.
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
