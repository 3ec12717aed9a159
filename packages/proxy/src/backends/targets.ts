/**
 * Targets: how a backend address is written, and the addresses a target stands for. `dns:///` names are resolved again
 * every 30 s. While the DNS lookup fails, the last addresses stay in use.
 */
import { lookup } from 'node:dns/promises';
import type { Clock } from 'batchwise';
import { expected, validText } from '../options/valid-option.js';

export interface BackendTarget {
  /** As written in the options. */
  readonly text: string;
  /** `fixed`: one backend. `dns`: one backend per address of the name. */
  readonly kind: 'fixed' | 'dns';
  /** The host name to resolve; empty for a Unix socket. */
  readonly name: string;
  readonly port: number;
}

const DNS = 'dns:///';

export function parseTarget(where: string, value: unknown): BackendTarget {
  const text = validText(where, value);
  if (text.startsWith('unix:') && text.length > 'unix:'.length) {
    return { text, kind: 'fixed', name: '', port: 0 };
  }
  const isDns = text.startsWith(DNS);
  const found = /^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]@?#]+):(\d{1,5})$/.exec(isDns ? text.slice(DNS.length) : text);
  const port = Number(found?.[2]);
  if (found?.[1] === undefined || port < 1 || port > 65_535) {
    throw expected(where, "'host:port', '[address]:port', 'unix:/path' or 'dns:///name:port'", value);
  }
  return { text, kind: isDns ? 'dns' : 'fixed', name: found[1], port };
}

/** `host:port` of a resolved address. */
function targetOfAddress(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

export interface ResolvedTarget {
  readonly target: string;
  /** The name of the backend if `target` is an address that was found for it. */
  readonly authority?: string | undefined;
  readonly serverName?: string | undefined;
}

export type Lookup = (name: string) => Promise<readonly string[]>;

export interface ResolverOptions {
  readonly clock: Clock;
  readonly log: (line: string) => void;
  /** `error`: why a name could not be resolved. */
  readonly onTargets: (targets: readonly ResolvedTarget[], error: Error | undefined) => void;
  readonly lookup?: Lookup;
}

/** The lookup interval, and the interval after a failure. */
const LOOKUP_INTERVAL_MS = 30_000;
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

  /** Resolves after the first lookup of all names, successful or not. */
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
    this.#timer = this.#options.clock.setTimer(
      () => void this.#lookUp(),
      failure ? RETRY_MS : LOOKUP_INTERVAL_MS,
    );
  }

  /** Returns the error if the lookup failed. */
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
      // Logged once, not for every retry.
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
