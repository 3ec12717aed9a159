/**
 * Runs a scenario through the production batcher, with its policy, estimators and admission control, on virtual
 * time. Only callers, backend and clock are simulated.
 */
import { type Backend, BackendSet, type BatchContext, Batcher, BatchwiseError, type Sink } from 'batchwise';
import { type Curve, curvePoints } from './curve.js';
import { type Random, randomStream } from './random.js';
import type { Contender, Scenario, SimulatedBackend, Traits } from './scenario.js';
import { ServiceTimes } from './service-times.js';
import { SimulatedClock } from './simulated-clock.js';

/** The outcome of every item, in order of arrival. */
export interface Run {
  readonly contender: string;
  readonly scenario: Scenario;
  readonly arrivedAt: Float64Array;
  /** From arrival to response; NaN for an item without a response. */
  readonly latencyMs: Float64Array;
  readonly refused: number;
  /** Items that were admitted and rejected while queued; included in `refused`. */
  readonly refusedInQueue: number;
  readonly batches: readonly BatchRun[];
  /** Rejected items that were retried after their `retryAfterMs`. */
  readonly retried: number;
  /** Retries that met the target, counted from the retry on. */
  readonly retriedOnTime: number;
}

export interface BatchRun {
  readonly startedAt: number;
  readonly durationMs: number;
  readonly size: number;
  readonly reason: string;
  /** Items that had arrived when the batch started. */
  readonly itemsBefore: number;
  /** The index of the first item of the batch. */
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
  readonly #retrying: Random;
  readonly #arrivedAt: Float64Array;
  readonly #latencyMs: Float64Array;
  readonly #batches: BatchRun[] = [];
  #arrived = 0;
  #settled = 0;
  #refused = 0;
  #refusedInQueue = 0;
  /** Items of hung batches, whose callers have timed out. */
  readonly #hung = new Set<number>();
  #isEnqueuing = false;
  #retried = 0;
  #retriedOnTime = 0;
  /** Whether a batch has ended of which the batcher has not been notified. */
  #hasEndedBatch = false;

  constructor(scenario: Scenario, contender: Contender) {
    const { curve, slots, backends, items, targetLatencyMs, timerMs, seed, maxWaitMs, batchSizes, traits } =
      scenario;
    this.#scenario = scenario;
    this.#contender = contender.name;
    this.#clock = new SimulatedClock(timerMs);
    this.#service = new ServiceTimes(scenario);
    this.#thinking = randomStream(seed, 'thinking');
    this.#traits = randomStream(seed, 'traits');
    this.#retrying = randomStream(seed, 'obeying');
    this.#arrivedAt = new Float64Array(items);
    this.#latencyMs = new Float64Array(items).fill(Number.NaN);
    const options = {
      maxBatchSize: curve.maxBatchSize,
      policy: contender.policy(scenario),
      clock: this.#clock,
      targetLatencyMs: contender.knowsTarget ? targetLatencyMs : undefined,
      admission: contender.admission,
      maxWaitMs,
      batchSizes,
      curve: contender.knowsCurve === true ? curvePoints(curve) : contender.knowsCurve || scenario.knownCurve,
      ...(traits === undefined ? {} : { costOf: ({ cost = 1 }: Item) => cost }),
      ...(isGrouped(scenario) ? { groupOf: ({ group }: Item) => group } : {}),
    };
    this.#batcher =
      backends === undefined
        ? new Batcher((batch: Item[], context) => this.#serve(batch, context, curve), {
            ...options,
            concurrency: slots,
          })
        : new Batcher({
            ...options,
            backends: new BackendSet(
              backends.map((backend, i) => this.#backend(backend, i)),
              { clock: this.#clock, retries: Number.POSITIVE_INFINITY },
            ),
          });
  }

  #backend({ curve, slots, outages = [] }: SimulatedBackend, index: number): Backend<Item, Item> {
    const id = `backend ${index}`;
    const run = (batch: Item[], context: BatchContext): Promise<Item[]> => {
      const now = this.#clock.now();
      const isOut = outages.some(({ atMs, ms }) => now >= atMs && now < atMs + ms);
      if (isOut) throw new BatchwiseError('UNAVAILABLE', `${id} is down`, { notStarted: true });
      return this.#serve(batch, context, curve);
    };
    return { id, slots, run };
  }

  async run(): Promise<Run> {
    const { arrivals, seed } = this.#scenario;
    if (arrivals.kind === 'closed') {
      for (let user = 0; user < arrivals.users; user++) this.#scheduleNextCall();
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
      refusedInQueue: this.#refusedInQueue,
      batches: this.#batches,
      retried: this.#retried,
      retriedOnTime: this.#retriedOnTime,
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
        this.#batcher.flush(); // the policy holds items although no more will arrive
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
        if (this.#hasEndedBatch) {
          this.#hasEndedBatch = false;
          await undefined; // the batcher is notified of the end of a batch in a microtask
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
    this.#isEnqueuing = true;
    this.#batcher.enqueue(item, new Caller(this, item, this.#clock.now(), isRetry), options);
    this.#isEnqueuing = false;
  }

  #serve(batch: Item[], { cost, reason }: BatchContext, curve: Curve): Promise<Item[]> {
    const clock = this.#clock;
    const startedAt = clock.now();
    const { durationMs, hangs } = this.#service.next(cost, startedAt, curve);
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
        this.#hasEndedBatch = true;
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
      if (now - calledAt <= this.#scenario.targetLatencyMs) this.#retriedOnTime += 1;
    } else this.#latencyMs[index] = now - calledAt;
    this.#scheduleNextCall();
  }

  refused(item: Item, error: Error, isRetry: boolean): void {
    const isRejection = error instanceof BatchwiseError && error.retryAfterMs !== undefined;
    if (!isRejection) throw error;
    if (!isRetry) {
      this.#refused += 1;
      if (!this.#isEnqueuing) this.#refusedInQueue += 1;
    }
    if (!isRetry && this.#retrying() < (this.#scenario.obeysRetryAfter ?? 0)) {
      this.#retried += 1;
      this.#clock.at(this.#clock.now() + (error.retryAfterMs ?? 0), () => this.#enqueue(item, true));
      return;
    }
    this.#settled += 1;
    this.#scheduleNextCall(error.retryAfterMs);
  }

  /** In a closed loop: schedules the next request of a user. */
  #scheduleNextCall(afterMs = 0): void {
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

/** Whether items have groups, which the traits of any one item show. */
function isGrouped({ traits, seed }: Scenario): boolean {
  return traits?.(randomStream(seed, 'sample')).group !== undefined;
}
