/**
 * The batchers of all batched methods, created at the first call of a method. A rule for any service lets callers invent
 * method names, so the number is limited and the least recently used idle method is replaced.
 */
import { Allowance } from '@batchwise/grpc';
import type { BatcherStats, CloseOptions } from 'batchwise';
import type { MethodSettings } from '../options/method-options.js';
import { MethodBatcher, type MethodShared } from './method-batcher.js';
import type { Tenant } from './tenants.js';

/** Called for each new method. The returned function is called when the method is replaced. */
export type WatchMethod = (method: MethodBatcher) => () => void;

export const MAX_METHODS = 256;
/**
 * Token buckets [burst, per second] for replaced methods: per tenant and in total. Removing the metrics of a method takes up
 * to 1 ms, so 900 calls with invented names blocked the event loop for 1.5 s. A token is returned when a backend answers
 * the new method.
 */
const TENANT_REPLACEMENTS = [16, 4] as const;
const REPLACEMENTS = [64, 64] as const;

export class MethodBatchers {
  readonly #shared: MethodShared;
  readonly #watch: WatchMethod;
  readonly #methods = new Map<string, MethodBatcher>();
  readonly #unwatch = new Map<MethodBatcher, () => void>();
  readonly #tenantReplacements = new WeakMap<Tenant, Allowance>();
  readonly #replacements: Allowance;
  #uses = 0;

  constructor(shared: MethodShared, watch: WatchMethod) {
    this.#shared = shared;
    this.#watch = watch;
    this.#replacements = this.#allowance(REPLACEMENTS);
  }

  get size(): number {
    return this.#methods.size;
  }

  /** The existing batcher of a path. */
  get(path: string): MethodBatcher | undefined {
    const method = this.#methods.get(path);
    if (method !== undefined) method.lastUse = ++this.#uses;
    return method;
  }

  /** Creates a batcher; undefined if the limit is reached and no method can be replaced now. */
  add(path: string, settings: MethodSettings, tenant: Tenant): MethodBatcher | undefined {
    const isFull = this.#methods.size >= MAX_METHODS;
    if (isFull && !(this.#takeReplacement(tenant) && this.#replaceOldest())) return undefined;
    const method = new MethodBatcher(path, settings, this.#shared);
    if (isFull) {
      method.onServed = () => {
        this.#tenantReplacements.get(tenant)?.giveBack();
        this.#replacements.giveBack();
      };
    }
    method.lastUse = ++this.#uses;
    this.#methods.set(path, method);
    this.#unwatch.set(method, this.#watch(method));
    return method;
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

  #takeReplacement(tenant: Tenant): boolean {
    const own = this.#tenantReplacements.get(tenant) ?? this.#allowance(TENANT_REPLACEMENTS);
    this.#tenantReplacements.set(tenant, own);
    return [own, this.#replacements].every((allowance) => {
      const isLeft = allowance.take();
      // A rejected attempt does not use a token.
      if (!isLeft) allowance.giveBack();
      return isLeft;
    });
  }

  #allowance([most, perSecond]: readonly [number, number]): Allowance {
    return new Allowance(most, perSecond, () => this.#shared.clock.now());
  }

  /** Methods that no backend has answered are replaced first. */
  #replaceOldest(): boolean {
    let oldest: MethodBatcher | undefined;
    const all = [...this.#methods.values()];
    const candidates = all.every(({ isServed }) => isServed) ? all : all.filter(({ isServed }) => !isServed);
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
