/**
 * One listener for each `AbortSignal`, whatever the number of calls that share it. Adding and removing
 * a listener costs microseconds, and removal is linear in the listeners of one signal; a request that
 * fans out into a thousand calls would otherwise spend its time here.
 */
import type { Entry } from './entry.js';

/** By signal. Each watch is removed with its last call: a WeakMap would do that too, and is several times slower. */
const watches = new Map<AbortSignal, AbortWatch>();
let recent: AbortWatch | undefined;

export class AbortWatch {
  readonly signal: AbortSignal;
  readonly isNative: boolean;
  hasFired = false;
  readonly #entries: Entry[] = [];

  constructor(signal: AbortSignal) {
    this.signal = signal;
    this.isNative = isNativeSignal(signal);
  }

  /** Returns true for the first call of the signal. */
  add(entry: Entry): boolean {
    const isFirst = this.#entries.length === 0;
    if (isFirst) listen(this.signal, this);
    entry.watch = this;
    entry.watchIndex = this.#entries.length;
    this.#entries.push(entry);
    return isFirst;
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
    this.hasFired = true;
    // A copy, because each cancel takes its entry out of the list.
    for (const entry of [...this.#entries]) entry.cancel(this.signal.reason);
  }
}

// In Node each signal has a hidden class of its own, so that every property access searches the prototypes (0.3 µs).
// The methods of native signals are therefore looked up once.
const { addEventListener, removeEventListener } = EventTarget.prototype;
const readAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted')?.get;

/** True for the platform's own signals. Others may be a polyfill, or invalid. */
export function isNativeSignal(value: unknown): value is AbortSignal {
  if (recent !== undefined && recent.signal === value) return recent.isNative;
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === AbortSignal.prototype
  );
}

export function hasFired(signal: AbortSignal): boolean {
  if (recent !== undefined && recent.signal === signal) return recent.hasFired;
  return readAborted !== undefined && isNativeSignal(signal) ? readAborted.call(signal) : signal.aborted;
}

function listen(signal: AbortSignal, watch: AbortWatch): void {
  if (watch.isNative) addEventListener.call(signal, 'abort', watch);
  else signal.addEventListener('abort', watch);
}

/** A signal of another class may throw here, which must not stop the settlement of other callers. */
function stopListening(signal: AbortSignal, watch: AbortWatch): void {
  try {
    if (watch.isNative) removeEventListener.call(signal, 'abort', watch);
    else signal.removeEventListener('abort', watch);
  } catch {
    // The watch is not used any more.
  }
}

/** Cancels the entry when the signal fires. The watch ends when the entry is settled. */
export function cancelOnAbort(entry: Entry, signal: AbortSignal): void {
  const watch = (recent?.signal === signal ? recent : watches.get(signal)) ?? new AbortWatch(signal);
  // `add` throws if `addEventListener` of another signal class throws; then the watch is dropped.
  if (watch.add(entry)) watches.set(signal, watch);
  recent = watch;
}
