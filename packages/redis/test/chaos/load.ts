/** Requests at a steady rate, or so many at once, from a client in this process; each is entered in the ledger. */
import type { RedisBatcher } from '@batchwise/redis';
import type { SubmitOptions } from 'batchwise';
import type { Ledger } from '../support/ledger.js';

export interface ChaosItem {
  readonly id: number;
  /** To the process that runs it. */
  readonly does?: 'exit' | 'kill';
}

export interface ChaosAnswer {
  readonly id: number;
}

const TICK_MS = 10;

export class Load {
  readonly #batcher: RedisBatcher<ChaosItem, ChaosAnswer>;
  readonly #ledger: Ledger;
  static #lastId = 0;
  readonly #underWay = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined = undefined;
  #count = 0;

  constructor(batcher: RedisBatcher<ChaosItem, ChaosAnswer>, ledger: Ledger) {
    this.#batcher = batcher;
    this.#ledger = ledger;
  }

  /** How many were sent so far. */
  get count(): number {
    return this.#count;
  }

  /** Sends one and settles its entry. Never rejects. */
  request(options?: SubmitOptions, does?: ChaosItem['does']): Promise<void> {
    this.#count += 1;
    const id = ++Load.#lastId;
    this.#ledger.submitted(id);
    const request = this.#settle(id, options, does).finally(() => this.#underWay.delete(request));
    this.#underWay.add(request);
    return request;
  }

  /** From now on, until `stop()`. */
  start(requestsPerSecond: number, options?: SubmitOptions): void {
    let due = 0;
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      // After a pause of this process not all that it missed comes at once.
      due += (Math.min(now - last, 200) * requestsPerSecond) / 1000;
      last = now;
      for (; due >= 1; due -= 1) void this.request(options);
    }, TICK_MS);
  }

  /** Sends no more; resolves when all are settled. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
  }

  /** So many in all, so many of them at a time. */
  async run(requests: number, concurrent: number): Promise<void> {
    let left = requests;
    const caller = async () => {
      while (left > 0) {
        left -= 1;
        await this.request();
      }
    };
    await Promise.all(Array.from({ length: Math.min(requests, concurrent) }, caller));
  }

  async #settle(id: number, options?: SubmitOptions, does?: ChaosItem['does']): Promise<void> {
    try {
      const answer = await this.#batcher.submit(does === undefined ? { id } : { id, does }, options);
      this.#ledger.settled(id, answer?.id === id ? 'answered' : `got the answer ${JSON.stringify(answer)}`);
    } catch (error) {
      const { code, message } = error as Error & { code?: string };
      this.#ledger.settled(id, code ?? message);
    }
  }
}
