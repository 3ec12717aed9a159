/**
 * One listener for each `AbortSignal`, whatever the number of calls that share it. Adding and removing
 * a listener costs microseconds, and removal is linear in the listeners of one signal; a request that
 * fans out into a thousand calls would otherwise spend its time here.
 */
import type { Entry } from './entry.js';

const watches = new WeakMap<AbortSignal, AbortWatch>();
let recent: AbortWatch | undefined;

/** One call's stake in a signal. */
export class Watcher {
  readonly entry: Entry;
  readonly #watch: AbortWatch;
  index: number;

  constructor(entry: Entry, watch: AbortWatch, index: number) {
    this.entry = entry;
    this.#watch = watch;
    this.index = index;
  }

  stop(): void {
    this.#watch.remove(this);
  }
}

class AbortWatch implements EventListenerObject {
  readonly signal: AbortSignal;
  readonly #watchers: Watcher[] = [];

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  add(entry: Entry): Watcher {
    if (this.#watchers.length === 0) this.signal.addEventListener('abort', this);
    const watcher = new Watcher(entry, this, this.#watchers.length);
    this.#watchers.push(watcher);
    return watcher;
  }

  remove(watcher: Watcher): void {
    const last = this.#watchers.pop();
    if (last !== undefined && last !== watcher) {
      this.#watchers[watcher.index] = last;
      last.index = watcher.index;
    }
    if (this.#watchers.length > 0) return;
    this.signal.removeEventListener('abort', this);
    watches.delete(this.signal);
    if (recent === this) recent = undefined;
  }

  handleEvent(): void {
    // A copy, because each cancel takes its watcher out of the list.
    for (const { entry } of [...this.#watchers]) entry.cancel(this.signal.reason);
  }
}

/** Cancels the entry when the signal fires. The watch ends when the entry is settled. */
export function cancelOnAbort(entry: Entry, signal: AbortSignal): void {
  let watch = recent?.signal === signal ? recent : watches.get(signal);
  if (watch === undefined) {
    watch = new AbortWatch(signal);
    watches.set(signal, watch);
  }
  recent = watch;
  entry.watcher = watch.add(entry);
}
