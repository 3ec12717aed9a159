/**
 * Fetches items for a processor: only when a slot is free, and as many as a batch wants, so that what waits is in Redis,
 * where whoever is free next finds it. One read at a time, which blocks: when nothing waits, the next item is here the
 * moment it comes. When items are left over from the last fetch, what waits in Redis may be more urgent, or fill their
 * batch: a read that does not block looks first, and they wait for its reply.
 */
import type { Clock } from 'batchwise';
import type { Backlog } from './backlog-policy.js';
import { LinkClosedError, LinkLostError, type RedisLink, type Reply, ReplyError } from './connection/link.js';
import { loadScript } from './connection/script.js';
import type { Delivery } from './delivery.js';
import { itemsInList, itemsInStreams } from './fetched-items.js';
import { GROUP, LEVELS, type Level, type QueueKeys } from './queue-keys.js';
import type { RedisTime } from './redis-time.js';
import { BLOCK_MS } from './reply-reader.js';

export interface FetchOwner<I> {
  readonly keys: QueueKeys;
  readonly link: RedisLink;
  readonly readLink: RedisLink;
  readonly clock: Clock;
  readonly consumer: string;
  readonly time: RedisTime;
  /** The most items that a batch can have, as far as is known what they cost. */
  readonly maxBatchItems: number;
  readonly freeSlots: number;
  /** Fetched and not started. */
  queued(level: Level): number;
  /** The ids of what it holds, as scripts want them. */
  readonly heldIds: readonly string[];
  received(items: readonly Delivery<I>[]): void;
  /** Groups among those that were fetched last: each makes batches of its own. */
  readonly groups: number;
  /** A read was under way that batches waited for, and has brought nothing. */
  foundNothing(): void;
  /** Those of them that it does not hold yet. */
  unknownOf(items: readonly Delivery<I>[]): Delivery<I>[];
  /** Makes the consumer group, which is missing. */
  makeGroup(): Promise<void>;
  fetchFailed(error: unknown): void;
}

const backlog = loadScript('backlog');
const adopt = loadScript('adopt');

/** How many unseen items are looked for after a lost connection. */
const MOST_ADOPTED = 10_000;
/** After an error of Redis' own it is tried again. */
const AGAIN_AFTER_MS = 1000;
/** For how many groups at most a batch's worth is fetched: what one processor holds, no other can have. */
const MOST_GROUPS = 16;
/** The most to fetch at once, where batches have no limit. */
const MOST_AT_ONCE = 4096;

/** What to read: up to `count` from each of these streams. */
interface Wish {
  readonly count: number;
  readonly streams: readonly string[];
}

export class Fetcher<I> implements Backlog {
  readonly #owner: FetchOwner<I>;
  #waiting = 0;
  /** The last read brought all that was asked for. */
  #wasFull = false;
  /** Levels of which the last read brought as many as were asked for. */
  readonly #goesOn = new Set<Level>();
  #wanted = Number.POSITIVE_INFINITY;
  #isOpen = false;
  #isReading = false;
  /** The read under way does not block. */
  #isLooking = false;
  /** Redis was read, or is being read, since a slot became free. */
  #isUpToDate = false;
  /** Those that are being read. */
  #streams: readonly string[] = [];
  /** Keys of what came by another way since the read under way began: it may bring them as well. */
  readonly #tookOver = new Set<string>();
  #isDue = false;
  /** Fires when the link is lost: what was fetched must not wait for what was asked along with it. */
  #readLost = new AbortController();
  #whenStill: (() => void)[] = [];

  constructor(owner: FetchOwner<I>) {
    this.#owner = owner;
  }

  /** After a read that brought as many as were asked for, there is at least one, it must be supposed. */
  get waiting(): number {
    return Math.max(this.#waiting, Math.min(this.#goesOn.size, 1));
  }

  get isStale(): boolean {
    return !this.#isUpToDate;
  }

  get isMoreUrgent(): boolean {
    const best = LEVELS.find((level) => this.#owner.queued(level) > 0);
    return LEVELS.some((level) => best !== undefined && level < best && this.#goesOn.has(level));
  }

  wants(count: number): void {
    // A single small batch, to try its size, say, is no reason to fetch little from now on.
    const before = Math.min(this.#wanted, this.#owner.maxBatchItems);
    this.#wanted = before === Number.POSITIVE_INFINITY ? count : Math.max(count, before / 2);
  }

  /** How many items a batch has, as the policy wants it. */
  get wantedSize(): number {
    return this.#wanted;
  }

  /** The policy wants more than are here. A read that blocks has found nothing more. */
  fetch(): boolean {
    const wish = this.#wish;
    if (!this.#isOpen || wish === undefined) return false;
    if (this.#isReading && !this.#isTooNarrow(wish)) return this.#isLooking;
    this.wake();
    return true;
  }

  open(): void {
    this.#isOpen = true;
    this.#owner.readLink.onDown((error) => {
      this.#readLost.abort(error);
      this.#readLost = new AbortController();
    });
    this.wake();
  }

  /** Fetches nothing more; resolves when no item can come any more. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.still();
  }

  /** Ends a read that is under way; resolves when it has ended, and what it brought was handed on. */
  async still(): Promise<void> {
    if (!this.#isReading) return;
    const still = new Promise<void>((resolve) => {
      this.#whenStill.push(resolve);
    });
    this.#unblock();
    await still;
  }

  /** To be told of what was taken over, from this processor itself perhaps. */
  tookOver(items: readonly Delivery<I>[]): void {
    if (this.#isReading) for (const { key } of items) this.#tookOver.add(key);
  }

  /** To be called when a slot may be free, or taken. What all of a turn bring about is one look. */
  wake(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#owner.clock.defer(() => {
      this.#isDue = false;
      this.#look();
    });
  }

  #look(): void {
    if (!this.#isOpen) return;
    const wish = this.#wish;
    if (!this.#isReading) {
      if (wish !== undefined) void this.#read();
      else if (this.#owner.freeSlots <= 0) this.#isUpToDate = false;
      return;
    }
    // What comes now belongs to somebody who is free; or more is wanted than is being read.
    if (this.#owner.freeSlots <= 0 || this.#isTooNarrow(wish)) this.#unblock();
  }

  /** There is room for levels by now that are not being read. */
  #isTooNarrow(wish: Wish | undefined): boolean {
    return wish?.streams.some((stream) => !this.#streams.includes(stream)) ?? false;
  }

  /** Each level has room of its own: what is less urgent must not keep out what is more. */
  get #wish(): Wish | undefined {
    const { freeSlots, maxBatchItems, groups, keys } = this.#owner;
    if (freeSlots <= 0) return undefined;
    const size = Math.min(this.#wanted, maxBatchItems, MOST_AT_ONCE);
    const most = Math.min(Math.ceil(size) * Math.max(freeSlots, Math.min(groups, MOST_GROUPS)), MOST_AT_ONCE);
    const open = LEVELS.filter((level) => this.#owner.queued(level) < most);
    if (open.length === 0) return undefined;
    const count = most - Math.min(...open.map((level) => this.#owner.queued(level)));
    return { count, streams: open.map((level) => keys.requests[level - 1] as string) };
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    let hasFailed = false;
    try {
      const goesOn = () => this.#isOpen && this.#whenStill.length === 0;
      for (let wish = this.#wish; wish !== undefined && goesOn(); wish = this.#wish) {
        const wasLooking = this.#looksFirst;
        const items = await this.#readOnce(wish, wasLooking);
        if (items.length > 0) {
          this.#owner.received(items);
          break; // they may leave at once, and take the slot
        }
        if (wasLooking) this.#owner.foundNothing();
      }
    } catch (error) {
      hasFailed = true;
      await this.#recover(error);
    } finally {
      this.#isReading = false;
      for (const tell of this.#whenStill.splice(0)) tell();
    }
    if (hasFailed && this.#isOpen) this.#owner.foundNothing();
    this.wake();
  }

  /** Items are here that wait for what may be in Redis: see `fetch()`. */
  get #looksFirst(): boolean {
    const hasMore = !this.#isUpToDate || this.#goesOn.size > 0;
    return hasMore && LEVELS.some((level) => this.#owner.queued(level) > 0);
  }

  async #readOnce({ count, streams }: Wish, isLooking: boolean): Promise<Delivery<I>[]> {
    const { keys, readLink, consumer } = this.#owner;
    this.#isLooking = isLooking;
    const block = isLooking ? [] : ['BLOCK', String(BLOCK_MS)];
    this.#streams = streams;
    this.#tookOver.clear();
    const read = readLink.send(keys.processors, [
      ...['XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', String(count), ...block],
      ...['STREAMS', ...streams, ...streams.map(() => '>')],
    ]);
    // After a read that brought all that was asked for, there is more: how much is asked along with the next one.
    const behind = this.#wasFull ? this.#countBehind() : undefined;
    // Nothing is here that waits for it.
    this.#isUpToDate ||= !isLooking;
    const items = itemsInStreams<I>(await read, keys);
    this.#isUpToDate = true;
    this.#isLooking = false;
    for (const level of LEVELS) {
      if (!streams.includes(keys.requests[level - 1] as string)) continue;
      if (items.filter((item) => item.level === level).length >= count) this.#goesOn.add(level);
      else this.#goesOn.delete(level);
    }
    this.#wasFull = items.length >= count;
    this.#waiting = this.#wasFull && behind !== undefined ? await behind : 0;
    return this.#tookOver.size === 0 ? items : items.filter(({ key }) => !this.#tookOver.has(key));
  }

  /** How many wait behind those that are being fetched: over the same link, so that it is counted after the fetch. */
  async #countBehind(): Promise<number> {
    const { keys, readLink, clock, time } = this.#owner;
    const sentAt = clock.now();
    try {
      const { signal } = this.#readLost;
      const reply = (await readLink.run(backlog, keys.requests, [GROUP], { signal })) as readonly number[];
      time.record(Number(reply[0]), sentAt, clock.now());
      return Number(reply[1]);
    } catch {
      return 0; // whoever reads hears why
    }
  }

  #unblock(): void {
    const { keys, readLink } = this.#owner;
    readLink.unblock(keys.processors).catch(() => {});
  }

  async #recover(error: unknown): Promise<void> {
    if (error instanceof LinkClosedError) {
      this.#isOpen = false;
      return;
    }
    try {
      this.#isLooking = false;
      if (error instanceof LinkLostError) this.#owner.received(await this.unseen());
      else if (error instanceof ReplyError && error.code === 'NOGROUP') await this.#owner.makeGroup();
      else throw error;
    } catch (failure) {
      if (failure instanceof LinkClosedError) return;
      this.#owner.fetchFailed(failure);
      await new Promise<void>((resolve) => {
        this.#owner.clock.setTimer(resolve, AGAIN_AFTER_MS);
      });
    }
  }

  /** What is this processor's in Redis and never reached it, as the connection broke on the way. */
  async unseen(): Promise<Delivery<I>[]> {
    const { keys, link, consumer, heldIds, time, clock } = this.#owner;
    const sentAt = clock.now();
    const args = [GROUP, consumer, String(MOST_ADOPTED), ...heldIds];
    const reply = (await link.run(adopt, keys.requests, args)) as readonly Reply[];
    time.record(Number(reply[0]), sentAt, clock.now());
    return this.#owner.unknownOf(itemsInList(reply, 1));
  }
}
