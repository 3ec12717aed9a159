/**
 * Turns targets into addresses. A `dns:///` name stands for all of its addresses and is looked up again from
 * time to time; while a look-up fails, what was found last goes on being used.
 */
import { lookup } from 'node:dns/promises';
import type { Clock } from 'batchwise';
import { type BackendTarget, targetOfAddress } from './backend-target.js';

export interface ResolvedTarget {
  readonly target: string;
  /** What the backend is called, where that is not what it was found at. */
  readonly authority?: string | undefined;
  readonly serverName?: string | undefined;
}

export type Lookup = (name: string) => Promise<readonly string[]>;

export interface ResolverOptions {
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** `error`: why a name could not be looked up, if one could not. */
  readonly onTargets: (targets: readonly ResolvedTarget[], error: Error | undefined) => void;
  readonly lookup?: Lookup;
}

/** How often a name is looked up again; sooner after a failure. */
const AGAIN_MS = 30_000;
const RETRY_MS = 3000;

export class TargetResolver {
  readonly #targets: readonly BackendTarget[];
  readonly #options: ResolverOptions;
  readonly #lookup: Lookup;
  readonly #found = new Map<BackendTarget, readonly ResolvedTarget[]>();
  readonly #failing = new Set<BackendTarget>();
  #timer: unknown = undefined;
  #isStopped = false;

  constructor(targets: readonly BackendTarget[], options: ResolverOptions) {
    this.#targets = targets;
    this.#options = options;
    this.#lookup = options.lookup ?? addressesOf;
    for (const target of targets) {
      if (target.kind === 'fixed') this.#found.set(target, [{ target: target.text }]);
    }
  }

  /** Resolves when all names were looked up once, found or not. */
  async start(): Promise<void> {
    await this.#lookUp();
  }

  stop(): void {
    this.#isStopped = true;
    this.#options.clock.clearTimer(this.#timer);
  }

  async #lookUp(): Promise<void> {
    const names = this.#targets.filter(({ kind }) => kind === 'dns');
    let failure: Error | undefined;
    for (const target of names) failure = (await this.#lookUpName(target)) ?? failure;
    if (this.#isStopped) return;
    const found = this.#targets.flatMap((target) => this.#found.get(target) ?? []);
    this.#options.onTargets(found, failure);
    if (names.length === 0) return;
    this.#timer = this.#options.clock.setTimer(() => void this.#lookUp(), failure ? RETRY_MS : AGAIN_MS);
  }

  /** Returns why it failed. */
  async #lookUpName(target: BackendTarget): Promise<Error | undefined> {
    const { name, port, text } = target;
    try {
      const addresses = await this.#lookup(name);
      if (addresses.length === 0) throw new Error('the name has no address');
      const authority = `${name}:${port}`;
      this.#found.set(
        target,
        addresses.map((address) => ({ target: targetOfAddress(address, port), authority, serverName: name })),
      );
      this.#failing.delete(target);
      return undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const failure = new Error(`${text} cannot be looked up: ${reason}`, { cause: error });
      // Once, however often it is tried again.
      if (!this.#isStopped && !this.#failing.has(target)) this.#options.log(failure.message);
      this.#failing.add(target);
      return failure;
    }
  }
}

async function addressesOf(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}
