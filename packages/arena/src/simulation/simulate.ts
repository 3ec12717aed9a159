/**
 * Runs a scenario through the production batcher, its policy, its estimators, its door, on virtual time.
 * Nothing of them is rewritten here: the simulator is only the world around them.
 */
import { type BatchContext, Batcher, BatchwiseError, type Sink } from 'batchwise';
import type { Contender } from './contender.js';
import { curvePoints } from './curve.js';
import { type Random, randomStream } from './random.js';
import type { Scenario, Traits } from './scenario.js';
import { ServiceTimes } from './service-times.js';
import { SimulatedClock } from './simulated-clock.js';

/** What became of every item, in the order of their arrival. */
export interface Run {
  readonly contender: string;
  readonly scenario: Scenario;
  readonly arrivedAt: Float64Array;
  /** From arrival to answer; NaN for those that got none. */
  readonly latencyMs: Float64Array;
  readonly refused: number;
  /** Of those: let in first, and refused later. */
  readonly overtaken: number;
  readonly batches: readonly BatchRun[];
  /** Of those refused that came back when they were told to: how many, and how many got an answer in time. */
  readonly retried: number;
  readonly retriedInTime: number;
}

export interface BatchRun {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly size: number;
  readonly reason: string;
  /** How many items had come when it started. */
  readonly itemsBefore: number;
  /** The index of the first of its items. */
  readonly first: number;
}

interface Item extends Traits {
  readonly index: number;
}

export async function simulate(scenario: Scenario, contender: Contender): Promise<Run> {
  return new Simulation(scenario, contender).run();
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #contender: string;
  readonly #clock: SimulatedClock;
  readonly #batcher: Batcher<Item, Item>;
  readonly #service: ServiceTimes;
  readonly #thinking: Random;
  readonly #traits: Random;
  readonly #obeying: Random;
  readonly #arrivedAt: Float64Array;
  readonly #latencyMs: Float64Array;
  readonly #batches: BatchRun[] = [];
  #arrived = 0;
  #settled = 0;
  #refused = 0;
  #overtaken = 0;
  /** Items whose callers have given up. */
  readonly #hung = new Set<number>();
  #isAtTheDoor = false;
  #retried = 0;
  #retriedInTime = 0;
  /** Whether a handler's promise was resolved, and callbacks wait for it. */
  #anyEnded = false;

  constructor(scenario: Scenario, contender: Contender) {
    const { curve, slots, items, targetMs, timerMs, seed, maxWaitMs, batchSizes, traits } = scenario;
    this.#scenario = scenario;
    this.#contender = contender.name;
    this.#clock = new SimulatedClock(timerMs);
    this.#service = new ServiceTimes(scenario);
    this.#thinking = randomStream(seed, 'thinking');
    this.#traits = randomStream(seed, 'traits');
    this.#obeying = randomStream(seed, 'obeying');
    this.#arrivedAt = new Float64Array(items);
    this.#latencyMs = new Float64Array(items).fill(Number.NaN);
    this.#batcher = new Batcher((batch: Item[], context) => this.#serve(batch, context), {
      maxBatchSize: curve.maxBatchSize,
      concurrency: slots,
      policy: contender.policy(scenario),
      clock: this.#clock,
      targetLatencyMs: contender.knowsTarget ? targetMs : undefined,
      admission: contender.admission,
      maxWaitMs,
      batchSizes,
      curve: contender.knowsCurve === true ? curvePoints(curve) : contender.knowsCurve || scenario.knownCurve,
      ...(traits === undefined ? {} : { costOf: ({ cost = 1 }) => cost }),
      ...(isGrouped(scenario) ? { groupOf: ({ group }) => group } : {}),
    });
  }

  async run(): Promise<Run> {
    const { arrivals, seed } = this.#scenario;
    if (arrivals.kind === 'closed') {
      for (let user = 0; user < arrivals.users; user++) this.#comeBack();
      await this.#runUntilIdle(() => Number.POSITIVE_INFINITY);
    } else {
      await this.#runUntilIdle(arrivals.times(randomStream(seed, 'arrivals')));
    }
    const { policyErrors, lastPolicyError } = this.#batcher.stats();
    if (policyErrors > 0) {
      const message = `${this.#contender} failed ${policyErrors} times in ${this.#scenario.name}.`;
      throw new Error(message, { cause: lastPolicyError });
    }
    return {
      contender: this.#contender,
      scenario: this.#scenario,
      arrivedAt: this.#arrivedAt.subarray(0, this.#arrived),
      latencyMs: this.#latencyMs.subarray(0, this.#arrived),
      refused: this.#refused,
      overtaken: this.#overtaken,
      batches: this.#batches,
      retried: this.#retried,
      retriedInTime: this.#retriedInTime,
    };
  }

  async #runUntilIdle(nextTime: () => number): Promise<void> {
    const clock = this.#clock;
    const { items, untilMs = Number.POSITIVE_INFINITY } = this.#scenario;
    const next = () => {
      const at = this.#arrived < items ? nextTime() : Number.POSITIVE_INFINITY;
      return at <= untilMs ? at : Number.POSITIVE_INFINITY;
    };
    let arrivesAt = next();
    for (;;) {
      const timerAt = clock.nextAt;
      const now = Math.min(arrivesAt, timerAt);
      if (now === Number.POSITIVE_INFINITY) {
        if (this.#settled === this.#arrived) return;
        this.#batcher.flush(); // a policy that waits for company that never comes
        if (clock.nextAt === Number.POSITIVE_INFINITY) throw new Error(`${this.#contender} lost an item.`);
        continue;
      }
      clock.moveTo(now);
      while (arrivesAt <= now) {
        this.#arrive();
        arrivesAt = next();
      }
      if (timerAt <= now) {
        clock.runDue();
        if (this.#anyEnded) {
          this.#anyEnded = false;
          await undefined; // the batcher hears of a batch's end in a microtask
        }
      }
      clock.endTurn();
    }
  }

  #arrive(): void {
    const { traits } = this.#scenario;
    const index = this.#arrived++;
    this.#arrivedAt[index] = this.#clock.now();
    this.#enqueue(traits === undefined ? { index } : { index, ...traits(this.#traits) }, false);
  }

  #enqueue(item: Item, isRetry: boolean): void {
    const { priority, tenant } = item;
    const options = priority === undefined && tenant === undefined ? undefined : { priority, tenant };
    this.#isAtTheDoor = true;
    this.#batcher.enqueue(item, new Caller(this, item, this.#clock.now(), isRetry), options);
    this.#isAtTheDoor = false;
  }

  #serve(batch: Item[], { cost, reason }: BatchContext): Promise<Item[]> {
    const clock = this.#clock;
    const startedAt = clock.now();
    const { durationMs, hangs } = this.#service.next(cost, startedAt);
    const first = (batch[0] as Item).index;
    this.#batches.push({
      startedAt,
      durationMs,
      size: batch.length,
      reason,
      itemsBefore: this.#arrived,
      first,
    });
    return new Promise((resolve) => {
      clock.at(startedAt + durationMs, () => {
        this.#anyEnded = true;
        if (hangs) for (const { index } of batch) this.#hung.add(index);
        resolve(batch);
      });
    });
  }

  answered({ index }: Item, calledAt: number, isRetry: boolean): void {
    const now = this.#clock.now();
    this.#settled += 1;
    if (this.#hung.has(index)) return;
    if (isRetry) {
      if (now - calledAt <= this.#scenario.targetMs) this.#retriedInTime += 1;
    } else this.#latencyMs[index] = now - calledAt;
    this.#comeBack();
  }

  refused(item: Item, error: Error, isRetry: boolean): void {
    const isRefusal = error instanceof BatchwiseError && error.retryAfterMs !== undefined;
    if (!isRefusal) throw error;
    if (!isRetry) {
      this.#refused += 1;
      if (!this.#isAtTheDoor) this.#overtaken += 1;
    }
    if (!isRetry && this.#obeying() < (this.#scenario.obeysRetryAfter ?? 0)) {
      this.#retried += 1;
      this.#clock.at(this.#clock.now() + (error.retryAfterMs ?? 0), () => this.#enqueue(item, true));
      return;
    }
    this.#settled += 1;
    this.#comeBack(error.retryAfterMs);
  }

  /** A user of a closed loop makes its next call. */
  #comeBack(afterMs = 0): void {
    const { arrivals, items, untilMs = Number.POSITIVE_INFINITY } = this.#scenario;
    if (arrivals.kind !== 'closed') return;
    const { thinkMs, thinking } = arrivals;
    const pause = thinking === 'constant' ? thinkMs : -thinkMs * Math.log(1 - this.#thinking());
    this.#clock.at(this.#clock.now() + afterMs + pause, () => {
      if (this.#arrived < items && this.#clock.now() <= untilMs) this.#arrive();
    });
  }
}

class Caller implements Sink<Item> {
  readonly #simulation: Simulation;
  readonly #item: Item;
  readonly #calledAt: number;
  readonly #isRetry: boolean;

  constructor(simulation: Simulation, item: Item, calledAt: number, isRetry: boolean) {
    this.#simulation = simulation;
    this.#item = item;
    this.#calledAt = calledAt;
    this.#isRetry = isRetry;
  }

  resolve(): void {
    this.#simulation.answered(this.#item, this.#calledAt, this.#isRetry);
  }

  reject(error: Error): void {
    this.#simulation.refused(this.#item, error, this.#isRetry);
  }
}

/** Whether items have groups: what one of them is like shows it. */
function isGrouped({ traits, seed }: Scenario): boolean {
  return traits?.(randomStream(seed, 'a first look')).group !== undefined;
}
