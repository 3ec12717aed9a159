/** Reports changes of source files in folders and their subfolders, however editors write them. */
import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { realClock } from 'batchwise';

/** Editors write in several steps. */
const SETTLE_MS = 100;
/** The source files of a model are in fewer folders. A model in a home folder must not have the whole disk watched. */
const MAX_FOLDERS = 200;
const MAX_DEPTH = 6;
const IGNORED = new Set(['node_modules', '__pycache__', 'venv', 'site-packages']);

interface WatchedFolder {
  readonly inode: number;
  readonly watcher: FSWatcher;
}

export class SourceWatch {
  readonly #log: (line: string) => void;
  /** The extensions of the files to watch, by folder. */
  readonly #roots = new Map<string, Set<string>>();
  readonly #folders = new Map<string, WatchedFolder>();
  /** Of each file, also of a deleted one: an editor is about to write it again. */
  readonly #versions = new Map<string, string>();
  readonly #logged = new Set<string>();
  #timer: unknown = undefined;
  #onChange: (file: string) => void = () => {};
  #changed: Promise<string>;

  constructor(log: (line: string) => void) {
    this.#log = log;
    this.#changed = this.#nextChange();
  }

  /** Resolves with the first file that changed since the last `reset()`. */
  get changed(): Promise<string> {
    return this.#changed;
  }

  /** Whether there is nothing to watch. */
  get isEmpty(): boolean {
    return this.#roots.size === 0;
  }

  reset(): void {
    this.#changed = this.#nextChange();
  }

  /** Reports a change that was detected elsewhere. */
  report(file: string): void {
    this.#onChange(file);
  }

  /** From now on, watches all files with the same extension in the folder of each file. */
  add(files: readonly string[]): void {
    for (const file of files) {
      const folder = dirname(resolve(file));
      const extension = extname(file);
      const extensions = this.#roots.get(folder) ?? new Set();
      if (extensions.has(extension)) continue;
      this.#roots.set(folder, extensions.add(extension));
      this.#changesIn(folder, new Set([extension]));
    }
  }

  stop(): void {
    realClock.clearTimer(this.#timer);
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #nextChange(): Promise<string> {
    return new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }

  #look(): void {
    this.#timer = undefined;
    const changed = [...this.#roots].flatMap(([root, extensions]) => this.#changesIn(root, extensions));
    if (changed[0] !== undefined) this.#onChange(changed[0]);
  }

  /** The files that are new or changed since the last call. */
  #changesIn(root: string, extensions: ReadonlySet<string>): string[] {
    const changed: string[] = [];
    for (const folder of this.#foldersIn(root)) {
      this.#watch(folder);
      for (const { name } of entriesOf(folder)) {
        if (!extensions.has(extname(name))) continue;
        const file = join(folder, name);
        const version = versionOf(file);
        if (version === undefined || this.#versions.get(file) === version) continue;
        this.#versions.set(file, version);
        changed.push(file);
      }
    }
    return changed;
  }

  #foldersIn(root: string): string[] {
    const folders = [root];
    let level = [root];
    for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth += 1) {
      level = level.flatMap(subfoldersOf).slice(0, MAX_FOLDERS - folders.length);
      folders.push(...level);
    }
    if (folders.length >= MAX_FOLDERS)
      this.#logOnce(`Changes are detected only in the first ${MAX_FOLDERS} folders in ${root}.`);
    return folders;
  }

  #watch(folder: string): void {
    const inode = statSync(folder, { throwIfNoEntry: false })?.ino;
    const known = this.#folders.get(folder);
    if (inode === undefined || known?.inode === inode) return;
    known?.watcher.close(); // the folder was deleted and created again
    const giveUp = (error: Error) =>
      this.#logOnce(`Changes in ${folder} and other folders are not detected: ${error.message}.`);
    try {
      const watcher = watch(folder, (event, name) => this.#onEvent(event, name));
      watcher.on('error', (error) => {
        watcher.close();
        giveUp(error);
      });
      this.#folders.set(folder, { inode, watcher });
    } catch (error) {
      giveUp(error as Error);
    }
  }

  #onEvent(event: string, name: string | null): void {
    const isSource = () => [...this.#roots.values()].some((known) => known.has(extname(name ?? '')));
    // A created or renamed entry may be a folder, or a link to a folder of new files.
    if (event === 'change' && name !== null && !isSource()) return;
    // Not restarted by the next event, because in some folders events never stop.
    this.#timer ??= realClock.setTimer(() => this.#look(), SETTLE_MS);
  }

  #logOnce(line: string): void {
    const [what = ''] = line.split(' in ');
    if (this.#logged.has(what)) return;
    this.#logged.add(what);
    this.#log(line);
  }
}

function subfoldersOf(folder: string): string[] {
  return entriesOf(folder)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !IGNORED.has(entry.name))
    .map(({ name }) => join(folder, name));
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // deleted, or not readable
  }
}

function versionOf(file: string): string | undefined {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats?.isFile() ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : undefined;
}
