/**
 * A processor's heartbeat: renews what it holds, says how fast it is, and takes over items whose lease has expired. Every
 * quarter of a lease; what has been silent for three quarters is taken over, so that it happens within the lease.
 *
 * While Redis is away, or has lost the last renewals in a failover, or all machines were suspended, the silence of other
 * processors proves nothing. A processor sees that in its own heartbeats, as Redis has recorded them: there is a gap. For
 * a lease after a gap, silence that may be explained by it does not count. Lost connections alone leave no gap, however
 * many there are.
 */
import type { Clock } from 'batchwise';
import { LinkClosedError, type RedisLink, type Reply } from './connection/link.js';
import { loadScript } from './connection/script.js';
import type { Delivery } from './delivery.js';
import { itemsInList } from './fetched-items.js';
import { ALL_HELD, type HeldItems } from './held-items.js';
import { GROUP, type QueueKeys } from './queue-keys.js';
import type { RedisTime } from './redis-time.js';

export interface LeaseOwner<I> {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly clock: Clock;
  readonly consumer: string;
  readonly time: RedisTime;
  readonly held: HeldItems<I>;
  readonly settings: {
    readonly leaseMs: number;
    readonly maxDeliveries: number;
    readonly batching: { readonly concurrency?: number | undefined };
  };
  readonly maxBatchSize: number;
  /** Takes nothing over, and is no help to anybody, for now. */
  readonly isPaused: boolean;
  /** Items a second, when it has as much to do as it can. */
  readonly ratePerSecond: number;
  /** What `queue status` shows of it. */
  readonly portrait: Readonly<Record<string, unknown>>;
  /** Items taken over, to be run apart from all others. Resolves when they are settled. */
  tookOver(items: readonly Delivery<I>[]): Promise<void>;
  /** What is this processor's in Redis and never reached it. */
  adopt(): Promise<Delivery<I>[]>;
  /** After each sign of life: a batch that was given up by its time-out, with no item left in it, has told nobody. */
  beaten(): void;
  died(items: number): void;
  /** They (level:id) are held by somebody else by now. */
  lost(keys: readonly string[]): void;
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
  /** How many times something was taken over that has not settled yet. */
  #unsettled = 0;
  #mayTakeOver = true;
  #taking: Promise<Delivery<I>[]> | undefined = undefined;
  /** The last heartbeat that Redis has taken: in its time, and by the clock here (-Infinity after a lost connection). */
  #beatAt: number | undefined = undefined;
  #judgedAt = Number.NEGATIVE_INFINITY;
  /** The last gap between heartbeats: when it began, and until when it counts, in Redis' time. */
  #gap = { since: 0, until: Number.NEGATIVE_INFINITY };
  /** Ends a take-over whose reply was lost. */
  #onLost: (error: Error) => void = () => {};

  constructor(owner: LeaseOwner<I>) {
    this.#owner = owner;
    owner.link.onDown((error) => {
      this.#judgedAt = Number.NEGATIVE_INFINITY;
      this.#onLost(error);
    });
    owner.link.onUp(() => {
      owner.time.forget(owner.clock.now());
      // Before anything is fetched: after a failover, ids of items that are held may be assigned a second time.
      this.beatNow();
    });
  }

  /** Resolves after the first sign of life: Redis' time is known then. */
  async start(): Promise<void> {
    await this.#renew().catch((error) => this.#owner.leaseFailed(error));
    if (!this.#isStopped) void this.#beat();
  }

  stop(): void {
    this.#isStopped = true;
    this.#owner.clock.clearTimer(this.#timer);
  }

  /** Renews, but takes nothing over any more. Resolves when what was being taken over is here. */
  async stopTakingOver(): Promise<void> {
    this.#mayTakeOver = false;
    await this.still();
  }

  /** Resolves when what was being taken over is here. */
  async still(): Promise<void> {
    await this.#taking?.catch(() => {});
  }

  /** For what the others should know at once, or what it may take over again. */
  beatNow(): void {
    if (this.#isStopped || this.#timer === undefined) return; // what it says at the start is true as well
    this.#owner.clock.clearTimer(this.#timer);
    void this.#beat();
  }

  async #beat(): Promise<void> {
    const { clock, settings } = this.#owner;
    this.#timer = clock.setTimer(() => void this.#beat(), settings.leaseMs / BEATS);
    if (this.#isRenewing) return; // Redis is away; the one that waits will do
    // What others have let go waits for nobody else: it is taken over also when Redis did not take the sign of life.
    await this.#attempt(() => this.#renew());
    this.#owner.beaten();
    await this.#attempt(() => this.#takeOver());
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof LinkClosedError)) this.#owner.leaseFailed(error);
    }
  }

  async #renew(): Promise<void> {
    this.#isRenewing = true;
    const { keys, link, clock, consumer, held, time, settings, ratePerSecond, portrait } = this.#owner;
    try {
      const sentAt = clock.now();
      const reply = (await link.run(
        renew,
        [...keys.requests, keys.processors, keys.rate],
        [
          ...[GROUP, consumer, ALL_HELD, String(2 * settings.leaseMs)],
          ...[ratePerSecond.toFixed(3), JSON.stringify(portrait)],
          ...held.ids(),
        ],
      )) as readonly Reply[];
      time.record(Number(reply[0]), sentAt, clock.now());
      this.#noteGap(Number(reply[0]), Number(reply[1]));
      if (reply.length > 2) this.#owner.lost(reply.slice(2).map(String));
    } finally {
      this.#judgedAt = clock.now();
      this.#isRenewing = false;
    }
  }

  /** `recordedAt`: the heartbeat before this one, as far as Redis knows. One whose reply was lost is not counted as one. */
  #noteGap(now: number, recordedAt: number): void {
    const { leaseMs } = this.#owner.settings;
    // At its first heartbeat it has seen no gap.
    const since = this.#beatAt === undefined ? now : Math.min(this.#beatAt, recordedAt);
    this.#beatAt = now;
    if (now - since > leaseMs / 2) this.#gap = { since, until: now + leaseMs };
  }

  /** From how long a silence on an item is taken over: longer than a living processor may have been silent. */
  get #silenceMs(): number {
    const { leaseMs } = this.#owner.settings;
    const usual = (leaseMs * (BEATS - 1)) / BEATS;
    const { since, until } = this.#gap;
    const now = this.#beatAt ?? since;
    return Math.ceil(now < until ? Math.max(usual, now - since + leaseMs / 2) : usual);
  }

  /** A few at a time, until there is nothing left: see the script. */
  async #takeOver(): Promise<void> {
    if (this.#isReclaiming) return;
    this.#isReclaiming = true;
    try {
      while (this.#takesOver) {
        this.#owner.held.rememberReleased();
        this.#taking = this.#reclaim();
        const items = await this.#taking;
        if (items.length === 0) return;
        await this.#settled(items);
      }
    } finally {
      this.#owner.held.forgetReleased();
      this.#isReclaiming = false;
    }
  }

  /** Not when each slot may be taken by something that hangs: what it took over could not be run. */
  get #takesOver(): boolean {
    if (this.#isStopped || !this.#mayTakeOver) return false;
    const { clock, settings, isPaused } = this.#owner;
    if (isPaused) return false;
    // Not by what it knew before it stood still, or before the connection was lost.
    if (clock.now() > this.#judgedAt + settings.leaseMs / 2) return false;
    return this.#unsettled < (settings.batching.concurrency ?? 1);
  }

  /** Waits for them, but not for ever: an item that hangs must not keep all others from being taken over. */
  async #settled(items: readonly Delivery<I>[]): Promise<void> {
    const { clock, settings } = this.#owner;
    this.#unsettled += 1;
    const settled = this.#owner.tookOver(items).finally(() => {
      this.#unsettled -= 1;
    });
    this.#owner.held.forgetReleased(); // it was looked up which of them are unknown
    let timer: unknown;
    const longEnough = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, settings.leaseMs);
    });
    try {
      await Promise.race([settled, longEnough]);
    } finally {
      clock.clearTimer(timer);
    }
  }

  /** Not sent again when its reply is lost: it would take over others. What it took over is then known to Redis only. */
  async #reclaim(): Promise<Delivery<I>[]> {
    const lost = new AbortController();
    this.#onLost = (error) => lost.abort(error);
    try {
      return await this.#reclaimOnce(lost.signal);
    } catch (error) {
      if (!lost.signal.aborted) throw error;
    }
    const unseen = await this.#owner.adopt();
    // The others are new ones, on their way to whoever reads them. Among them may be one that had been given back, and
    // is delivered for the first time: nothing tells it from those. It is this processor's own and not held, so the
    // script tells it again when its lease has run out: it comes late, and not twice.
    return unseen.filter(({ count }) => count > 1);
  }

  async #reclaimOnce(signal: AbortSignal): Promise<Delivery<I>[]> {
    const { keys, link, consumer, settings, maxBatchSize } = this.#owner;
    const few = Math.max(1, Math.floor(Math.sqrt(Math.min(maxBatchSize, 1024))));
    const reply = (await link.run(
      reclaim,
      [...keys.requests, keys.dead, keys.totals],
      [
        ...[GROUP, consumer, String(this.#silenceMs)],
        ...[String(settings.maxDeliveries), String(few), keys.clients, keys.replies],
      ],
      { signal },
    )) as readonly Reply[];
    if (Number(reply[1]) > 0) this.#owner.died(Number(reply[1]));
    return itemsInList(reply, 2);
  }
}
