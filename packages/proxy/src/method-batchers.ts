/**
 * The batchers of all batched methods, made when a method is first called. With a rule for any service, callers
 * could make up names without end: there are only so many, and the one that was idle longest makes room.
 */
import type { BatcherStats, CloseOptions } from 'batchwise';
import { MethodBatcher, type MethodShared } from './method-batcher.js';
import type { MethodSettings } from './method-options.js';
import { PermitLine } from './permit-line.js';

/** Told of a method that is now batched; the function that is returned is called when it is not any more. */
export type WatchMethod = (method: MethodBatcher) => () => void;

export const MOST_METHODS = 256;

export class MethodBatchers {
  readonly #shared: MethodShared;
  readonly #watch: WatchMethod;
  readonly #line: PermitLine;
  readonly #methods = new Map<string, MethodBatcher>();
  readonly #unwatch = new Map<MethodBatcher, () => void>();
  #uses = 0;

  constructor(shared: MethodShared, watch: WatchMethod) {
    this.#shared = shared;
    this.#watch = watch;
    this.#line = new PermitLine(shared.clock, () => shared.pool.freePermits);
  }

  get size(): number {
    return this.#methods.size;
  }

  /** The one that is known by this path. */
  known(path: string): MethodBatcher | undefined {
    const method = this.#methods.get(path);
    if (method !== undefined) method.lastUse = ++this.#uses;
    return method;
  }

  /** A new one; undefined when there is no room and all are in use. */
  add(path: string, settings: MethodSettings): MethodBatcher | undefined {
    if (this.#methods.size >= MOST_METHODS && !this.#makeRoom()) return undefined;
    const method = new MethodBatcher(path, settings, this.#shared, this.#line);
    method.lastUse = ++this.#uses;
    this.#methods.set(path, method);
    this.#unwatch.set(method, this.#watch(method));
    return method;
  }

  setConcurrency(concurrency: number): void {
    for (const method of this.#methods.values()) method.setConcurrency(concurrency);
  }

  /** What was held back for want of a permit is looked at again. */
  permitFreed(): void {
    this.#line.wake();
  }

  stats(): Readonly<Record<string, BatcherStats>> {
    return Object.fromEntries([...this.#methods].map(([path, method]) => [path, method.stats()]));
  }

  async close(options?: CloseOptions): Promise<void> {
    await Promise.all([...this.#methods.values()].map((method) => method.close(options)));
  }

  destroy(): void {
    for (const method of this.#methods.values()) method.destroy();
  }

  /** Made-up names take no room from methods that a backend serves. */
  #makeRoom(): boolean {
    let oldest: MethodBatcher | undefined;
    const all = [...this.#methods.values()];
    const candidates = all.every(({ isProven }) => isProven) ? all : all.filter(({ isProven }) => !isProven);
    for (const method of candidates) {
      if (method.isIdle && method.lastUse < (oldest?.lastUse ?? Number.POSITIVE_INFINITY)) oldest = method;
    }
    if (oldest === undefined) return false;
    this.#methods.delete(oldest.path);
    this.#unwatch.get(oldest)?.();
    this.#unwatch.delete(oldest);
    oldest.destroy();
    return true;
  }
}
