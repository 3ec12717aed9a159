/**
 * A processor's sign of life: renews what it holds, says how fast it is, and takes over what others have let go. Every
 * quarter of a lease; what has been silent for three quarters is taken over, so that it happens within the lease.
 */
import type { Clock } from 'batchwise';
import { LinkClosedError, type RedisLink, type Reply } from './connection/link.js';
import { loadScript } from './connection/script.js';
import { type FetchedItem, itemsInList } from './fetched-item.js';
import type { HeldItems } from './held-items.js';
import { GROUP, type QueueKeys } from './queue-keys.js';
import type { RedisTime } from './redis-time.js';

export interface LeaseOwner<I> {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly clock: Clock;
  readonly consumer: string;
  readonly time: RedisTime;
  readonly held: HeldItems<I>;
  readonly settings: { readonly leaseMs: number; readonly maxDeliveries: number };
  readonly maxBatchSize: number;
  /** Items a second, when it has as much to do as it can. */
  readonly ratePerSecond: number;
  /** What `queue status` shows of it. */
  readonly portrait: Readonly<Record<string, unknown>>;
  /** Items taken over, to be run apart from all others. Resolves when they are settled. */
  tookOver(items: readonly FetchedItem[]): Promise<void>;
  died(items: number): void;
  /** They are held by somebody else by now. */
  lost(ids: readonly string[]): void;
  leaseFailed(error: unknown): void;
}

const BEATS = 4;

const renew = loadScript('renew');
const reclaim = loadScript('reclaim');

export class Leases<I> {
  readonly #owner: LeaseOwner<I>;
  #timer: unknown = undefined;
  #isStopped = false;
  #isRenewing = false;
  #isReclaiming = false;

  constructor(owner: LeaseOwner<I>) {
    this.#owner = owner;
  }

  /** Resolves after the first sign of life: Redis' time is known then. */
  async start(): Promise<void> {
    await this.#beat();
  }

  stop(): void {
    this.#isStopped = true;
    this.#owner.clock.clearTimer(this.#timer);
  }

  /** Renews, but takes nothing over any more. */
  stopTakingOver(): void {
    this.#isReclaiming = true;
  }

  async #beat(): Promise<void> {
    const { clock, settings } = this.#owner;
    this.#timer = clock.setTimer(() => void this.#beat(), settings.leaseMs / BEATS);
    try {
      await this.#renew();
      await this.#takeOver();
    } catch (error) {
      if (!(error instanceof LinkClosedError)) this.#owner.leaseFailed(error);
    }
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing) return; // Redis is away; the one that waits will do
    this.#isRenewing = true;
    const { keys, link, clock, consumer, held, time, settings, ratePerSecond, portrait } = this.#owner;
    try {
      const sentAt = clock.now();
      const reply = (await link.run(
        renew,
        [...keys.requests, keys.processors, keys.rate],
        [
          ...[GROUP, consumer, String(Math.max(1, held.size)), String(2 * settings.leaseMs)],
          ...[ratePerSecond.toFixed(3), JSON.stringify(portrait)],
          ...held.ids(),
        ],
      )) as readonly Reply[];
      time.record(Number(reply[0]), sentAt, clock.now());
      if (reply.length > 1) this.#owner.lost(reply.slice(1).map(String));
    } finally {
      this.#isRenewing = false;
    }
  }

  /** A few at a time, until there is nothing left: see the script. */
  async #takeOver(): Promise<void> {
    if (this.#isReclaiming) return;
    this.#isReclaiming = true;
    try {
      while (!this.#isStopped) {
        const items = await this.#reclaim();
        if (items.length === 0) return;
        await this.#owner.tookOver(items);
      }
    } finally {
      if (!this.#isStopped) this.#isReclaiming = false;
    }
  }

  async #reclaim(): Promise<FetchedItem[]> {
    const { keys, link, consumer, settings, maxBatchSize } = this.#owner;
    const few = Math.max(1, Math.floor(Math.sqrt(Math.min(maxBatchSize, 1024))));
    const reply = (await link.run(
      reclaim,
      [...keys.requests, keys.dead, keys.totals],
      [
        ...[GROUP, consumer, String(Math.ceil((settings.leaseMs * (BEATS - 1)) / BEATS))],
        ...[String(settings.maxDeliveries), String(few), keys.clients, keys.replies],
      ],
    )) as readonly Reply[];
    if (Number(reply[1]) > 0) this.#owner.died(Number(reply[1]));
    return itemsInList(reply, 2);
  }
}
