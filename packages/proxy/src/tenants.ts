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
  /** None of its calls has come to wait yet. */
  isNew = true;
  /** Calls that are open, by method. */
  readonly methods = new Map<object, number>();
  /** Calls that wait, by method and group. */
  readonly #waiting = new Map<object, Map<string, number>>();
  #groups = 0;
  /** The groups that calls came for lately, and which part of the calls came for none of these, lately. */
  readonly #lately: { readonly method: object; readonly group: string }[] = [];
  #newPart = 0;
  /** How long its last batch makes it wait, and until when: see `pausedMs`. */
  pauseMs = 0;
  pausedUntil = Number.NEGATIVE_INFINITY;
  /** Its last batch had more than `LARGE_BATCH_BYTES`. */
  sendsLarge = false;

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

  /**
   * Its batches take more than their part: most of its calls form ever new groups, or are of ever new methods, so that
   * each takes a batch of its own; or its last batch was of large messages.
   */
  get takesMore(): boolean {
    return this.sendsLarge || this.#newPart > 1 / 2;
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
    this.#remember(method, group);
  }

  #remember(method: object, group: string): void {
    const isKnown = this.#lately.some((one) => one.method === method && one.group === group);
    this.#newPart += ((isKnown ? 0 : 1) - this.#newPart) / LATELY_CALLS;
    if (isKnown) return;
    this.#lately.push({ method, group });
    if (this.#lately.length > LATELY_GROUPS) this.#lately.shift();
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

/** A batch of more bytes than this takes longer than others just to be moved. */
const LARGE_BATCH_BYTES = 2 ** 20;
/** How many groups a client may use in turns without taking more than its part, and how many calls that is judged by. */
const LATELY_GROUPS = 8;
const LATELY_CALLS = 16;
/**
 * For how many times its duration a batch of a tenant that takes more keeps that tenant from the next one while others are active.
 * By turns alone it would get every other batch: whenever a batch of others ends, it is the only one that waits, because
 * the others have still to come back with their next calls. With 2, the others keep two thirds of the slot time.
 */
const PAUSE = 2;

/** Tenants without open calls are forgotten in sweeps, when there are twice as many as after the last one. */
const FIRST_SWEEP = 1024;

export class Tenants {
  /** Grows whenever what some tenant has used changes. */
  version = 0;
  /** When a tenant was last active that does not take more than its part. */
  #orderlyAt = Number.NEGATIVE_INFINITY;
  readonly #idOf: (call: IncomingCall) => string;
  readonly #known = new Map<string, Tenant>();
  /** What the tenant had used whose turn came last: a tenant that comes back starts there, without credit. */
  #levelMs = 0;
  /**
   * What a tenant would have used by now if all that wait had been served in equal parts; no more than the tenant has
   * used that has used most. A new tenant starts there: else those that are new with every call would go before all others.
   */
  #newMs = 0;
  #mostMs = 0;
  /** Tenants that have calls waiting. */
  #waiting = 0;
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
    return tenant;
  }

  /** To be called before a call of a tenant comes to wait. */
  arrive(tenant: Tenant): void {
    if (tenant.groups > 0) return;
    this.#waiting += 1;
    tenant.servedMs = Math.max(tenant.servedMs, tenant.isNew ? this.#newMs : 0, this.#levelMs);
    tenant.isNew = false;
  }

  /** To be called after a call of a tenant waits no longer. */
  left(tenant: Tenant): void {
    if (tenant.groups === 0) this.#waiting -= 1;
  }

  /**
   * A batch of these, that wait until now, takes a slot, for so long by what is known. Returns what to call when the time is
   * known.
   */
  charge(
    tenants: readonly Tenant[],
    bytes: number,
    expectedMs: number,
  ): (durationMs: number, now: number) => void {
    let least = Number.POSITIVE_INFINITY;
    for (const { servedMs } of tenants) least = Math.min(least, servedMs);
    this.#levelMs = Math.max(this.#levelMs, least);
    this.#add(tenants, expectedMs);
    const waiting = Math.max(1, this.#waiting);
    const [first] = tenants;
    const isOfOne = tenants.every((tenant) => tenant === first);
    for (const tenant of tenants) tenant.sendsLarge = isOfOne && bytes > LARGE_BATCH_BYTES;
    return (durationMs, now) => {
      this.#add(tenants, durationMs - expectedMs);
      for (const { servedMs } of tenants) this.#mostMs = Math.max(this.#mostMs, servedMs);
      this.#newMs = Math.min(Math.max(this.#newMs, least) + durationMs / waiting, this.#mostMs);
      for (const tenant of tenants) this.wasActive(tenant, now);
      if (!isOfOne || !first?.takesMore) return;
      first.pauseMs = PAUSE * durationMs;
      first.pausedUntil = now + first.pauseMs;
    };
  }

  wasActive(tenant: Tenant, now: number): void {
    if (!tenant.takesMore) this.#orderlyAt = now;
  }

  /** How long a tenant leaves a free slot to others that wait, or that were active a moment ago. */
  pausedMs(id: string | undefined, now: number): number {
    const tenant = id === undefined ? undefined : this.#known.get(id);
    if (!tenant?.takesMore || now >= tenant.pausedUntil) return 0;
    return now - this.#orderlyAt < tenant.pauseMs ? tenant.pausedUntil - now : 0;
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
