/**
 * Who shares the proxy fairly: each connection is a tenant, unless the proxy is told to tell calls apart otherwise. A tenant
 * that waits has its turn by the slot time that its batches have used so far, over all methods. Within a method, the
 * batcher shares by the same rule.
 */
import type { IncomingCall } from '@batchwise/grpc';

/** How calls are told apart: by connection, by the address of the client, or by a key of metadata. */
export type TenantBy = 'connection' | 'address' | `metadata:${string}`;

export class Tenant {
  readonly id: string;
  /** Slot time that its batches have used; of a batch that several share, each has its part. */
  servedMs = 0;
  /** Calls that are open, by method. */
  readonly methods = new Map<object, number>();
  /** Calls that wait, by method and group. */
  readonly #waiting = new Map<object, Map<string, number>>();
  #groups = 0;

  constructor(id: string) {
    this.id = id;
  }

  get isIdle(): boolean {
    return this.methods.size === 0;
  }

  opened(method: object): void {
    this.methods.set(method, (this.methods.get(method) ?? 0) + 1);
  }

  closed(method: object): void {
    const left = (this.methods.get(method) ?? 0) - 1;
    if (left > 0) this.methods.set(method, left);
    else this.methods.delete(method);
  }

  /** How many groups of all methods it waits in. */
  get groups(): number {
    return this.#groups;
  }

  waitsIn(method: object, group: string): boolean {
    return this.#waiting.get(method)?.has(group) === true;
  }

  enter(method: object, group: string): void {
    const groups = this.#waiting.get(method) ?? new Map<string, number>();
    const waiting = groups.get(group) ?? 0;
    if (waiting === 0) this.#groups += 1;
    this.#waiting.set(method, groups.set(group, waiting + 1));
  }

  /** Returns whether it still waits in this method. */
  leave(method: object, group: string): boolean {
    const groups = this.#waiting.get(method);
    if (groups === undefined) return false;
    const left = (groups.get(group) ?? 0) - 1;
    if (left > 0) groups.set(group, left);
    else if (groups.delete(group)) this.#groups -= 1;
    if (groups.size > 0) return true;
    this.#waiting.delete(method);
    return false;
  }
}

/** Tenants without open calls are forgotten in sweeps, when there are twice as many as after the last one. */
const FIRST_SWEEP = 1024;

export class Tenants {
  /** Grows whenever what some tenant has used changes. */
  version = 0;
  readonly #idOf: (call: IncomingCall) => string;
  readonly #known = new Map<string, Tenant>();
  /** What the tenant had used whose turn came last: a tenant that comes back starts there, without credit. */
  #levelMs = 0;
  #sweepAt = FIRST_SWEEP;

  constructor(tenantBy: TenantBy = 'connection') {
    this.#idOf = idsBy(tenantBy);
  }

  of(call: IncomingCall): Tenant {
    const id = this.#idOf(call);
    let tenant = this.#known.get(id);
    if (tenant === undefined) {
      if (this.#known.size >= this.#sweepAt) this.#sweep();
      tenant = new Tenant(id);
      this.#known.set(id, tenant);
    }
    if (tenant.isIdle && tenant.servedMs < this.#levelMs) tenant.servedMs = this.#levelMs;
    return tenant;
  }

  /** A batch of these takes a slot, for so long by what is known. Returns what to call when the time is known. */
  charge(tenants: readonly Tenant[], expectedMs: number): (durationMs: number) => void {
    let least = Number.POSITIVE_INFINITY;
    for (const { servedMs } of tenants) least = Math.min(least, servedMs);
    this.#levelMs = Math.max(this.#levelMs, least);
    this.#add(tenants, expectedMs);
    return (durationMs) => this.#add(tenants, durationMs - expectedMs);
  }

  #add(tenants: readonly Tenant[], ms: number): void {
    this.version += 1;
    for (const tenant of tenants) tenant.servedMs += ms / tenants.length;
  }

  #sweep(): void {
    for (const [id, tenant] of this.#known) if (tenant.isIdle) this.#known.delete(id);
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#known.size);
  }
}

function idsBy(tenantBy: TenantBy): (call: IncomingCall) => string {
  if (tenantBy === 'connection') return ({ connection }) => connection.id;
  if (tenantBy === 'address') return ({ connection }) => connection.address ?? connection.id;
  const key = tenantBy.slice('metadata:'.length);
  return ({ headers, connection }) => {
    const value = headers[key];
    // Calls without it are told apart by their connections; no value looks like the id of one.
    return value === undefined ? connection.id : `=${String(value)}`;
  };
}
