/**
 * Fair sharing between tenants: by default each connection is a tenant. Queued tenants are served in the order of the slot
 * time that their batches have used so far, over all methods. Within a method, the batcher uses the same rule.
 */
import type { IncomingCall } from '@batchwise/grpc';

/** What identifies a tenant: the connection, the address of the client, or a metadata key. */
export type TenantBy = 'connection' | 'address' | `metadata:${string}`;

export class Tenant {
  readonly id: string;
  /** Slot time used by its batches. Tenants that share a batch split its slot time. */
  servedMs = 0;
  /** None of its calls has been queued yet. */
  isNew = true;
  /** The number of open calls by method. */
  readonly openCalls = new Map<object, number>();
  /** The number of queued calls by method and group. */
  readonly #queued = new Map<object, Map<string, number>>();
  #queuedGroups = 0;
  /** The groups of its recent calls, and the share of recent calls that were in none of these groups. */
  readonly #recentGroups: { readonly method: object; readonly group: string }[] = [];
  #newGroupShare = 0;
  /** The throttling after its last batch: duration and end. See `throttledMs`. */
  throttleMs = 0;
  throttledUntil = Number.NEGATIVE_INFINITY;
  /** Its last batch had more than `LARGE_BATCH_BYTES`. */
  sentLargeBatch = false;

  constructor(id: string) {
    this.id = id;
  }

  get isIdle(): boolean {
    return this.openCalls.size === 0;
  }

  opened(method: object): void {
    this.openCalls.set(method, (this.openCalls.get(method) ?? 0) + 1);
  }

  closed(method: object): void {
    const left = (this.openCalls.get(method) ?? 0) - 1;
    if (left > 0) this.openCalls.set(method, left);
    else this.openCalls.delete(method);
  }

  /**
   * It uses more than its fair share of the slots: most of its calls are in new groups or methods, so that each call needs
   * a batch of its own, or its last batch had large messages.
   */
  get exceedsShare(): boolean {
    return this.sentLargeBatch || this.#newGroupShare > 1 / 2;
  }

  /** The number of groups with queued calls, over all methods. */
  get queuedGroups(): number {
    return this.#queuedGroups;
  }

  isQueuedIn(method: object, group: string): boolean {
    return this.#queued.get(method)?.has(group) === true;
  }

  enqueued(method: object, group: string): void {
    const groups = this.#queued.get(method) ?? new Map<string, number>();
    const calls = groups.get(group) ?? 0;
    if (calls === 0) this.#queuedGroups += 1;
    this.#queued.set(method, groups.set(group, calls + 1));
    this.#remember(method, group);
  }

  #remember(method: object, group: string): void {
    const isKnown = this.#recentGroups.some((recent) => recent.method === method && recent.group === group);
    this.#newGroupShare += ((isKnown ? 0 : 1) - this.#newGroupShare) / RECENT_CALLS;
    if (isKnown) return;
    this.#recentGroups.push({ method, group });
    if (this.#recentGroups.length > MAX_RECENT_GROUPS) this.#recentGroups.shift();
  }

  /** Returns whether calls of this method are still queued. */
  dequeued(method: object, group: string): boolean {
    const groups = this.#queued.get(method);
    if (groups === undefined) return false;
    const left = (groups.get(group) ?? 0) - 1;
    if (left > 0) groups.set(group, left);
    else if (groups.delete(group)) this.#queuedGroups -= 1;
    if (groups.size > 0) return true;
    this.#queued.delete(method);
    return false;
  }
}

/** The transfer alone of a larger batch delays other batches. */
const LARGE_BATCH_BYTES = 2 ** 20;
/** A tenant may alternate between this many groups without exceeding its share. */
const MAX_RECENT_GROUPS = 8;
/** The window (in calls) of the exponential average in `#newGroupShare`. */
const RECENT_CALLS = 16;
/**
 * Throttling after a batch of a tenant that exceeds its share, as a multiple of the service time, while other tenants are
 * active. Without it the tenant would get every second batch: when a batch of the others ends, their next calls have not
 * arrived yet. With 2, the other tenants keep two thirds of the slot time.
 */
const THROTTLE = 2;

/** Tenants without open calls are removed when their number has doubled since the last sweep. */
const FIRST_SWEEP = 1024;

export class Tenants {
  /** Changes whenever `servedMs` of any tenant changes. */
  version = 0;
  /** The last activity of a tenant that does not exceed its share. */
  #compliantAt = Number.NEGATIVE_INFINITY;
  readonly #idOf: (call: IncomingCall) => string;
  readonly #known = new Map<string, Tenant>();
  /** `servedMs` of the tenant that was served last. A returning tenant starts there, without credit for its absence. */
  #levelMs = 0;
  /**
   * Virtual time of fair queueing: the slot time of a tenant under equal shares, at most `#maxServedMs`. A new tenant
   * starts there. Otherwise tenants that are new with every call would always be first.
   */
  #virtualMs = 0;
  #maxServedMs = 0;
  /** The number of tenants with queued calls. */
  #queuedTenants = 0;
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

  /** Call before a call of the tenant is queued. */
  beforeEnqueue(tenant: Tenant): void {
    if (tenant.queuedGroups > 0) return;
    this.#queuedTenants += 1;
    tenant.servedMs = Math.max(tenant.servedMs, tenant.isNew ? this.#virtualMs : 0, this.#levelMs);
    tenant.isNew = false;
  }

  /** Call after a call of the tenant has left the queue. */
  afterDequeue(tenant: Tenant): void {
    if (tenant.queuedGroups === 0) this.#queuedTenants -= 1;
  }

  /**
   * Charges the tenants of a dispatched batch (one entry per item) for its expected slot time. Call before `afterDequeue`.
   * Returns a function to call with the actual slot time.
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
    const queuedTenants = Math.max(1, this.#queuedTenants);
    const [first] = tenants;
    const isSingleTenant = tenants.every((tenant) => tenant === first);
    for (const tenant of tenants) tenant.sentLargeBatch = isSingleTenant && bytes > LARGE_BATCH_BYTES;
    return (durationMs, now) => {
      this.#add(tenants, durationMs - expectedMs);
      for (const { servedMs } of tenants) this.#maxServedMs = Math.max(this.#maxServedMs, servedMs);
      this.#virtualMs = Math.min(
        Math.max(this.#virtualMs, least) + durationMs / queuedTenants,
        this.#maxServedMs,
      );
      for (const tenant of tenants) this.wasActive(tenant, now);
      if (!isSingleTenant || !first?.exceedsShare) return;
      first.throttleMs = THROTTLE * durationMs;
      first.throttledUntil = now + first.throttleMs;
    };
  }

  wasActive(tenant: Tenant, now: number): void {
    if (!tenant.exceedsShare) this.#compliantAt = now;
  }

  /** How long a tenant is throttled in favour of tenants that were active recently; 0 if it is not. */
  throttledMs(id: string | undefined, now: number): number {
    const tenant = id === undefined ? undefined : this.#known.get(id);
    if (!tenant?.exceedsShare || now >= tenant.throttledUntil) return 0;
    return now - this.#compliantAt < tenant.throttleMs ? tenant.throttledUntil - now : 0;
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
    // Calls without the key are identified by their connection. The prefix keeps values and connection ids apart.
    return value === undefined ? connection.id : `=${String(value)}`;
  };
}
