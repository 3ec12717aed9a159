/**
 * One listener for each `AbortSignal`, whatever the number of calls that share it. Adding and removing
 * a listener costs microseconds, and removal is linear in the listeners of one signal; a request that
 * fans out into a thousand calls would otherwise spend its time here.
 */
import type { Entry } from './entry.js';

/** Those with calls outstanding. Not a WeakMap: that is several times slower, and a watch is removed with its last call. */
const watches = new Map<AbortSignal, AbortWatch>();
let recent: AbortWatch | undefined;

export class AbortWatch implements EventListenerObject {
  readonly signal: AbortSignal;
  readonly #entries: Entry[] = [];

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  add(entry: Entry): void {
    if (this.#entries.length === 0) this.signal.addEventListener('abort', this);
    entry.watch = this;
    entry.watchIndex = this.#entries.length;
    this.#entries.push(entry);
  }

  remove(entry: Entry): void {
    const last = this.#entries.pop();
    if (last !== undefined && last !== entry) {
      this.#entries[entry.watchIndex] = last;
      last.watchIndex = entry.watchIndex;
    }
    entry.watch = undefined;
    if (this.#entries.length > 0) return;
    stopListening(this.signal, this);
    watches.delete(this.signal);
    if (recent === this) recent = undefined;
  }

  handleEvent(): void {
    // A copy, because each cancel takes its entry out of the list.
    for (const entry of [...this.#entries]) entry.cancel(this.signal.reason);
  }
}

/** Somebody else's signal may throw even now, when others are waiting for their answers. */
function stopListening(signal: AbortSignal, listener: EventListenerObject): void {
  try {
    signal.removeEventListener('abort', listener);
  } catch {
    // It is of no use any more, whatever is wrong with it.
  }
}

/** True for the signal of the latest calls: known to be one without looking, which is slow. */
export function isWatched(signal: unknown): boolean {
  return recent !== undefined && recent.signal === signal;
}

/** Cancels the entry when the signal fires. The watch ends when the entry is settled. */
export function cancelOnAbort(entry: Entry, signal: AbortSignal): void {
  let watch = recent?.signal === signal ? recent : watches.get(signal);
  if (watch === undefined) {
    watch = new AbortWatch(signal);
    watches.set(signal, watch);
  }
  recent = watch;
  watch.add(entry);
}
