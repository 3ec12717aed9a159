/**
 * Runs a random script of operations on a batcher, on virtual time, with a handler that the script controls. The
 * invariants are checked after every step.
 */
import { Batcher, type BatcherStats, type Ticket, VirtualClock } from 'batchwise';
import { expect } from 'vitest';
import { expectBooksToBalance } from './books.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { RecordingSink } from './recording-sink.js';
import { type Answer, type CallSpec, type Limits, policyNamed, type Setup, type Step } from './script.js';

export interface Item {
  readonly id: number;
  readonly cost: number;
  readonly group: number;
  readonly key: number;
}

/** A batch, with the limits at its dispatch. */
interface Batch {
  readonly cost: number;
  readonly handlerTimeoutMs: number;
}

interface Call {
  readonly answer: (answer: Answer) => void;
  readonly timesOutAt: number;
  isPending: boolean;
}

interface Caller {
  readonly item: Item;
  readonly outcome: Outcome<number> | RecordingSink<number>;
  readonly deadline: number;
  readonly ticket?: Ticket;
}

const SIGNALS = 3;

export class Scenario {
  readonly clock = new VirtualClock();
  readonly batcher: Batcher<Item, number>;
  readonly callers: Caller[] = [];
  readonly requests: { readonly items: readonly Item[]; readonly outcome: Outcome<number[]> }[] = [];
  readonly closings: Outcome<void>[] = [];

  readonly #setup: Setup;
  readonly #calls: Call[] = [];
  readonly #batches = new Map<Item, Batch>();
  readonly #sinks = new Map<Item, RecordingSink<number>>();
  readonly #controllers = Array.from({ length: SIGNALS }, () => new AbortController());
  #limits: Required<Limits>;
  #queueAllowance: number;
  #nextId = 0;
  /** A violation found in the handler, where an exception would count as its answer. */
  #violation: unknown = undefined;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#limits = setup.limits;
    this.#queueAllowance = setup.limits.maxQueueSize;
    const { policy, ...limits } = setup.limits;
    this.batcher = new Batcher(this.#handler, {
      clock: this.clock,
      costOf: ({ cost }) => cost,
      ...(setup.grouped ? { groupOf: ({ group }: Item) => group } : {}),
      ...(setup.deduped ? { dedupeBy: ({ key }: Item) => key } : {}),
      curve: setup.curve,
      ...limits,
      policy: policyNamed(policy),
    });
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'submit': {
        const item = this.#item(step.call);
        const { signal, ...options } = step.call.options;
        const controller = signal === undefined ? undefined : this.#controllers[signal];
        const promise = this.batcher.submit(item, { ...options, signal: controller?.signal });
        this.callers.push({ item, outcome: outcomeOf(promise), deadline: this.#deadlineOf(step.call) });
        break;
      }
      case 'enqueue': {
        const item = this.#item(step.call);
        const { signal: _, ...options } = step.call.options;
        const sink = new RecordingSink<number>();
        const ticket = this.batcher.enqueue(item, sink, options);
        this.callers.push({ item, outcome: sink, deadline: this.#deadlineOf(step.call), ticket });
        if (!this.#setup.deduped) this.#sinks.set(item, sink);
        expect(ticket.settled).toBe(sink.settled === 1);
        break;
      }
      case 'submitMany': {
        const items = step.calls.map((call) => this.#item(call));
        this.requests.push({ items, outcome: outcomeOf(this.batcher.submitMany(items)) });
        break;
      }
      case 'cancel': {
        const tickets = this.callers.flatMap(({ ticket }) => ticket ?? []);
        tickets[step.which % tickets.length]?.cancel('no longer wanted');
        break;
      }
      case 'abort': {
        this.#controllers[step.which]?.abort();
        this.#controllers[step.which] = new AbortController();
        break;
      }
      case 'advance':
        await this.clock.advance(step.ms);
        this.#checkDeadlines();
        break;
      case 'answer': {
        const pending = this.#calls.filter(({ isPending }) => isPending);
        pending[step.which % pending.length]?.answer(step.answer);
        await this.clock.settle();
        break;
      }
      case 'configure': {
        const { policy, ...limits } = step.limits;
        this.#limits = { ...this.#limits, ...step.limits };
        this.#queueAllowance = Math.max(this.#limits.maxQueueSize, this.batcher.stats().queued);
        this.batcher.configure({
          ...limits,
          ...(policy === undefined ? {} : { policy: policyNamed(policy) }),
        });
        break;
      }
      case 'flush':
        this.batcher.flush();
        break;
      case 'close':
        this.closings.push(outcomeOf(this.batcher.close({ timeoutMs: step.timeoutMs })));
        break;
      case 'destroy':
        this.batcher.destroy();
        break;
    }
    this.#check();
  }

  /** Destroys the batcher: after it no item may be queued or running. */
  async end(): Promise<void> {
    const closing = outcomeOf(this.batcher.close());
    this.batcher.destroy();
    await this.clock.settle();
    this.#check();
    for (const { item, outcome } of this.callers) {
      expect(outcome.settled, `item ${item.id}`).toBe(1);
      if (fateOf(outcome) === 'ok') expect(resultOf(outcome)).toBe(this.#resultOf(item));
    }
    for (const { items, outcome } of this.requests) {
      expect(outcome.settled, `request of ${items.length}`).toBe(1);
      if (outcome.state !== 'resolved') continue;
      expect(outcome.value).toEqual(items.map((item) => this.#resultOf(item)));
    }
    for (const { settled } of [...this.closings, closing]) expect(settled, 'close()').toBe(1);
    expect(this.clock.pendingTimers).toBe(0);
    const stats = this.batcher.stats();
    expect(stats).toMatchObject({ state: 'closed', queued: 0, running: 0, queuedCost: 0, batchesRunning: 0 });
    if (this.requests.length === 0) this.#checkColumns(stats);

    // Results of the handler after the end must be ignored.
    for (const call of this.#calls) if (call.isPending) call.answer('results');
    await this.clock.settle();
    expect(this.callers.every(({ outcome }) => outcome.settled === 1)).toBe(true);
    expect(this.batcher.stats()).toEqual(stats);
    expect(this.clock.pendingTimers).toBe(0);
  }

  #check(): void {
    if (this.#violation !== undefined) throw this.#violation;
    const { queued, batchesRunning } = this.batcher.stats();
    expectBooksToBalance(this.batcher);
    this.#queueAllowance = Math.max(this.#limits.maxQueueSize, Math.min(this.#queueAllowance, queued));
    expect(queued, 'maxQueueSize').toBeLessThanOrEqual(this.#queueAllowance);
    expect(this.#slotsTaken(), 'slots').toBe(batchesRunning);
    expect(this.clock.pendingTimers, 'one timer a batcher').toBeLessThanOrEqual(1);
    for (const { outcome } of this.callers) expect(outcome.settled).toBeLessThanOrEqual(1);
  }

  #checkDeadlines(): void {
    const late = this.callers.filter(
      ({ deadline, outcome }) => deadline <= this.clock.now() && outcome.settled === 0,
    );
    expect(
      late.map(({ item }) => item.id),
      'not settled at their deadline',
    ).toEqual([]);
  }

  #checkColumns(stats: BatcherStats): void {
    const count = (fate: string) => this.callers.filter(({ outcome }) => fateOf(outcome) === fate).length;
    expect(stats.succeeded).toBe(count('ok'));
    expect(stats.cancelled).toBe(count('CANCELLED'));
    expect(stats.expired).toBe(count('DEADLINE_EXCEEDED'));
    expect(stats.submitted).toBe(this.callers.length);
  }

  readonly #handler = (items: Item[]): Promise<number[]> | number[] => {
    try {
      this.#checkBatch(items);
    } catch (violation) {
      this.#violation ??= violation;
    }
    const { handlerTimeoutMs } = this.#batchOf(items);
    const atOnce = this.#setup.answersAtOnce[this.#calls.length % this.#setup.answersAtOnce.length] ?? 'wait';
    const timesOutAt = this.clock.now() + handlerTimeoutMs;
    if (atOnce !== 'wait') {
      this.#calls.push({ answer: () => {}, timesOutAt, isPending: false });
      return this.#results(items, atOnce);
    }
    return new Promise((resolve, reject) => {
      const answer = (answer: Answer): void => {
        call.isPending = false;
        try {
          resolve(this.#results(items, answer));
        } catch (error) {
          reject(error);
        }
      };
      const call: Call = { answer, timesOutAt, isPending: true };
      this.#calls.push(call);
    });
  };

  #checkBatch(items: readonly Item[]): void {
    expectBooksToBalance(this.batcher);
    for (const item of items) {
      expect(this.#sinks.get(item)?.settled ?? 0, 'executed after it was settled').toBe(0);
    }
    if (this.#setup.grouped) expect(new Set(items.map(({ group }) => group)).size, 'groups').toBe(1);
    const cost = costOf(items);
    const [rerun] = items.flatMap((item) => this.#batches.get(item) ?? []);
    if (rerun === undefined) {
      expect(cost, 'maxBatchSize').toBeLessThanOrEqual(this.#limits.maxBatchSize);
      expect(this.batcher.stats().batchesRunning, 'concurrency').toBeLessThanOrEqual(
        this.#limits.concurrency,
      );
    } else {
      expect(cost, 'a part of a batch').toBeLessThanOrEqual(rerun.cost);
      for (const item of items) expect(this.#batches.get(item), 're-run with others').toBe(rerun);
    }
  }

  #batchOf(items: readonly Item[]): Batch {
    const [known] = items.flatMap((item) => this.#batches.get(item) ?? []);
    const batch = known ?? { cost: costOf(items), handlerTimeoutMs: this.#limits.handlerTimeoutMs };
    for (const item of items) this.#batches.set(item, batch);
    return batch;
  }

  #results(items: readonly Item[], answer: Answer): number[] {
    const results = items.map((item) => this.#resultOf(item));
    switch (answer) {
      case 'results':
        return results;
      case 'ownErrors':
        return results.map((result, i) => (i % 2 === 0 ? result : new Error('its own'))) as number[];
      case 'tooFew':
        return results.slice(1);
      case 'tooMany':
        return [...results, 0];
      case 'nothing':
        return undefined as never;
      case 'promises':
        return results.map((result) => Promise.resolve(result)) as never;
      case 'throw':
        throw new Error('the handler failed');
    }
  }

  /** With deduplication the result depends on the key, so that a result for the wrong caller is detected. */
  #resultOf({ id, key }: Item): number {
    return this.#setup.deduped ? key : 1000 + id;
  }

  /** A call holds its slot until its answer or its timeout, even if all its callers have cancelled. */
  #slotsTaken(): number {
    if (this.batcher.stats().state === 'closed') return 0;
    return this.#calls.filter(({ isPending, timesOutAt }) => isPending && this.clock.now() < timesOutAt)
      .length;
  }

  #deadlineOf({ options }: CallSpec): number {
    return this.clock.now() + (options.timeoutMs ?? this.#limits.timeoutMs);
  }

  #item({ cost, group, key }: CallSpec): Item {
    return { id: this.#nextId++, cost, group, key };
  }
}

function fateOf(outcome: Caller['outcome']): string {
  if (outcome instanceof RecordingSink) return outcome.fate;
  return outcome.state === 'resolved' ? 'ok' : (outcome.code ?? outcome.state);
}

function resultOf(outcome: Caller['outcome']): number | undefined {
  return outcome instanceof RecordingSink ? outcome.results[0] : outcome.value;
}

function costOf(items: readonly Item[]): number {
  return items.reduce((sum, { cost }) => sum + cost, 0);
}
