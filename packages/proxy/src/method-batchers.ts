/**
 * The batchers of all batched methods, made when a method is first called. With a rule for any service, callers
 * could make up names without end: there are only so many, and the one that was idle longest makes room.
 */
import { Allowance } from '@batchwise/grpc';
import type { BatcherStats, CloseOptions } from 'batchwise';
import { MethodBatcher, type MethodShared } from './method-batcher.js';
import type { MethodSettings } from './method-options.js';
import { PermitLine } from './permit-line.js';
import type { Tenant } from './tenants.js';

/** Told of a method that is now batched; the function that is returned is called when it is not any more. */
export type WatchMethod = (method: MethodBatcher) => () => void;

export const MOST_METHODS = 256;
/**
 * Methods that make room for new ones, at once and a second: for one tenant, and for all. To forget the metrics of a method
 * takes up to 1 ms, so 900 calls of made-up names blocked the event loop for 1.5 s. A method that a backend answers
 * makes up for one.
 */
const REPLACED_BY_TENANT = [16, 4] as const;
const REPLACED = [64, 64] as const;

export class MethodBatchers {
  readonly #shared: MethodShared;
  readonly #watch: WatchMethod;
  readonly #line: PermitLine;
  readonly #methods = new Map<string, MethodBatcher>();
  readonly #unwatch = new Map<MethodBatcher, () => void>();
  /** What each tenant, and all of them, may still replace. */
  readonly #replacedBy = new WeakMap<Tenant, Allowance>();
  readonly #replaced: Allowance;
  #uses = 0;

  constructor(shared: MethodShared, watch: WatchMethod) {
    this.#shared = shared;
    this.#watch = watch;
    this.#line = new PermitLine(shared.clock, () => shared.pool.freePermits);
    this.#replaced = this.#allowance(REPLACED);
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

  /** A new one; undefined when there is no room and all are in use, or were replaced too often. */
  add(path: string, settings: MethodSettings, tenant: Tenant): MethodBatcher | undefined {
    const isFull = this.#methods.size >= MOST_METHODS;
    if (isFull && !(this.#mayReplace(tenant) && this.#makeRoom())) return undefined;
    const method = new MethodBatcher(path, settings, this.#shared, this.#line);
    if (isFull) {
      method.onProven = () => {
        this.#replacedBy.get(tenant)?.giveBack();
        this.#replaced.giveBack();
      };
    }
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

  #mayReplace(tenant: Tenant): boolean {
    const own = this.#replacedBy.get(tenant) ?? this.#allowance(REPLACED_BY_TENANT);
    this.#replacedBy.set(tenant, own);
    return [own, this.#replaced].every((allowance) => {
      const isLeft = allowance.take();
      // Further attempts cost nothing, so they use up nothing.
      if (!isLeft) allowance.giveBack();
      return isLeft;
    });
  }

  #allowance([most, perSecond]: readonly [number, number]): Allowance {
    return new Allowance(most, perSecond, () => this.#shared.clock.now());
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
