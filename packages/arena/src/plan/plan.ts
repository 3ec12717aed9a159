/**
 * Capacity planning: recommended settings, expected latency, largest rate and required slots. Every number comes from a
 * simulation of the production batcher with the recommended settings.
 */
import { efficientSize, knownPoints, sizesToTry } from './plan-curve.js';
import { PlanProgressReporter } from './plan-progress.js';
import { cappedCurve, MAX_SLOTS, type PlanRequest, type Question, validRequest } from './plan-request.js';
import {
  bestBatchSize,
  capacityPerSecond,
  fewestSlots,
  largestRate,
  lowestTarget,
  rounded,
} from './plan-search.js';
import { type PlanSettings, type Prefer, plannedPolicy } from './plan-settings.js';
import { rateOf } from './plan-traffic.js';
import { type LoadResult, type Setup, type Trial, Trials } from './plan-trial.js';

export interface Plan {
  readonly input: PlanInput;
  readonly verdict: Verdict;
  /** Recommended settings; undefined when no rate holds the target. */
  readonly settings: PlanSettings | undefined;
  /** Figures of the given traffic; undefined when the overload is too high for meaningful figures. */
  readonly expected: LoadResult | undefined;
  /** The largest rate that holds the target with these settings, with its figures. */
  readonly largest: LoadResult | undefined;
  /** The fewest slots that hold the target at the given rate; undefined when 64 do not. */
  readonly slotsNeeded: number | undefined;
  /** Figures of other rates with these settings, from light load to overload. */
  readonly loads: readonly LoadResult[];
}

export interface PlanInput {
  readonly curve: string;
  readonly traffic: 'rate' | 'trace';
  readonly perSecond: number;
  /** Number of requests of a trace. */
  readonly requests: number | undefined;
  readonly targetLatencyMs: number;
  readonly slots: number | undefined;
  readonly maxBatchSize: number;
  readonly noise: number;
  readonly prefer: Prefer;
  readonly seed: number;
  /** Durations of a batch of 1 and of the largest batch. */
  readonly aloneMs: number;
  readonly fullMs: number;
}

export type Verdict =
  | { readonly kind: 'holds' }
  /** More slots are needed, or a higher target. */
  | { readonly kind: 'too few slots'; readonly lowestTargetLatencyMs: number | undefined }
  /** Even at a very low rate the target is not held. `slots` slots hold the target `lowestTargetLatencyMs`. */
  | {
      readonly kind: 'target too low';
      readonly lowestTargetLatencyMs: number | undefined;
      readonly slots: number;
    }
  /** More than 64 slots are needed, about `slotsNeeded`. */
  | { readonly kind: 'rate too high'; readonly slotsNeeded: number | undefined };

/** Rates of the chart, as shares of the largest rate that holds the target. */
const LOADS = [0.02, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.15, 1.3];
/** The load with the longest queue; above it admission control rejects the excess. */
const OVERLOAD = 1.3;
/** `maxQueueSize` as a multiple of the longest simulated queue. */
const QUEUE_MARGIN = 2;
/** Utilisation for the first estimate of the number of slots. */
const USUAL_LOAD = 0.8;
/** Load of single requests, as a share of the throughput of one slot. */
const LIGHT_LOAD = 0.01;

export async function makePlan(request: PlanRequest): Promise<Plan> {
  const question = validRequest(request);
  const sizes = sizesToTry(question.curve, question.targetLatencyMs);
  return new Planning(question, new PlanProgressReporter(request.onProgress)).plan(sizes);
}

class Planning {
  readonly #question: Question;
  readonly #progress: PlanProgressReporter;
  readonly #trials: Trials;
  readonly #perSecond: number;

  constructor(question: Question, progress: PlanProgressReporter) {
    this.#question = question;
    this.#progress = progress;
    this.#trials = new Trials(question, () => progress.advance());
    this.#perSecond = rateOf(question.traffic);
  }

  async plan(sizes: readonly number[]): Promise<Plan> {
    const question = this.#question;
    const { targetLatencyMs } = question;
    const likelySlots = question.slots ?? this.#estimatedSlots();

    this.#progress.begin('one request at a time', 0.03, 1);
    if (!(await this.#lightLoadHolds())) return this.#targetTooLow(likelySlots);

    const searches = sizes.length === 1 ? 0 : sizes.length;
    this.#progress.begin('choosing the batch size', 0.03 + 0.15 * searches, 8 * searches);
    const maxBatchSize = await bestBatchSize(this.#trials, question, sizes, likelySlots);
    const load = { perSecond: this.#perSecond, targetLatencyMs, maxBatchSize };

    this.#progress.begin('counting slots', 0.55, 4);
    const slotsNeeded = await fewestSlots(this.#trials, question, load);
    const slots = question.slots ?? slotsNeeded ?? MAX_SLOTS;
    const expected = await this.#trials.run({ ...load, slots });

    this.#progress.begin('finding the largest rate', 0.7, 8);
    const known = expected.holds ? this.#perSecond : 0;
    const largest = await this.#largest({ slots, maxBatchSize, targetLatencyMs }, known);
    const verdict = await this.#verdict(expected, largest, slotsNeeded, { ...load, slots });

    this.#progress.begin('simulating other loads', 1, LOADS.length);
    const loads = await this.#loads(largest?.perSecond, { slots, maxBatchSize, targetLatencyMs });
    const deepest = Math.max(expected.deepestQueue, ...loads.map(({ deepestQueue }) => deepestQueue));
    return {
      input: this.#input(),
      verdict,
      settings: {
        maxBatchSize,
        concurrency: slots,
        targetLatencyMs: targetLatencyMs,
        maxQueueSize: Math.max(maxBatchSize, Math.ceil(rounded(QUEUE_MARGIN * deepest, 'up'))),
        policy: plannedPolicy(question.prefer),
        curve: knownPoints(cappedCurve(question.curve, maxBatchSize)),
      },
      expected: isMeaningful(expected, targetLatencyMs) ? expected : undefined,
      largest,
      slotsNeeded,
      loads,
    };
  }

  async #largest(setup: Omit<Setup, 'perSecond'>, known: number): Promise<Trial | undefined> {
    const perSecond = await largestRate(this.#trials, this.#question, setup, known);
    return perSecond === undefined ? undefined : this.#trials.run({ ...setup, perSecond });
  }

  async #verdict(
    expected: Trial,
    largest: LoadResult | undefined,
    slotsNeeded: number | undefined,
    setup: Setup,
  ): Promise<Verdict> {
    if (expected.holds) return { kind: 'holds' };
    if (slotsNeeded === undefined) {
      if (largest === undefined || setup.slots < MAX_SLOTS) {
        return { kind: 'rate too high', slotsNeeded: this.#slotsByWork(setup.maxBatchSize) };
      }
      const share = setup.perSecond / largest.perSecond;
      return { kind: 'rate too high', slotsNeeded: Math.ceil(setup.slots * share) };
    }
    return { kind: 'too few slots', lowestTargetLatencyMs: await this.#lowestTarget(setup.slots) };
  }

  /** The lowest target that the slots hold. */
  #lowestTarget(slots: number): Promise<number | undefined> {
    this.#progress.begin('finding the lowest target', 0.8, 12);
    const maxBatchSize = efficientSize(this.#question.curve);
    return lowestTarget(this.#trials, this.#question, { slots, maxBatchSize, perSecond: this.#perSecond });
  }

  /** The slots that the throughput requires, if more than are searched. */
  #slotsByWork(maxBatchSize: number): number | undefined {
    const slots = Math.ceil(this.#perSecond / capacityPerSecond(this.#question, 1, maxBatchSize));
    return slots > MAX_SLOTS ? slots : undefined;
  }

  async #targetTooLow(slots: number): Promise<Plan> {
    const lowestTargetLatencyMs = await this.#lowestTarget(slots);
    return {
      input: this.#input(),
      verdict: { kind: 'target too low', lowestTargetLatencyMs, slots },
      settings: undefined,
      expected: undefined,
      largest: undefined,
      slotsNeeded: undefined,
      loads: [],
    };
  }

  /** Whether the target is held under light load. */
  async #lightLoadHolds(): Promise<boolean> {
    const { targetLatencyMs, curve } = this.#question;
    const perSecond = LIGHT_LOAD * capacityPerSecond(this.#question, 1, 1);
    // With Poisson arrivals for a trace, too: scaling a trace does not remove its bursts.
    const question: Question = { ...this.#question, traffic: { kind: 'rate', perSecond }, items: 2000 };
    const trials = new Trials(question, () => this.#progress.advance());
    const setup = { slots: 1, maxBatchSize: curve.maxBatchSize, perSecond, targetLatencyMs };
    return (await trials.run(setup)).holds;
  }

  async #loads(largest: number | undefined, setup: Omit<Setup, 'perSecond'>): Promise<Trial[]> {
    if (largest === undefined) return [];
    const given = this.#perSecond;
    const others = LOADS.map((share) => rounded(share * largest, 'down')).filter(
      (perSecond) => perSecond !== given && (perSecond === largest || !isNear(perSecond, given)),
    );
    const rates = given <= OVERLOAD * largest ? [...others, given] : others;
    const trials: Trial[] = [];
    for (const perSecond of [largest, ...rates].sort((a, b) => a - b)) {
      if (perSecond === trials.at(-1)?.perSecond) continue;
      trials.push(await this.#trials.run({ ...setup, perSecond }));
    }
    return trials;
  }

  #estimatedSlots(): number {
    const perSlot = capacityPerSecond(this.#question, 1, this.#question.curve.maxBatchSize);
    return Math.min(MAX_SLOTS, Math.max(1, Math.ceil(this.#perSecond / (USUAL_LOAD * perSlot))));
  }

  #input(): PlanInput {
    const { curve, traffic, targetLatencyMs, slots, noise, prefer, seed } = this.#question;
    return {
      curve: curve.name,
      traffic: traffic.kind,
      perSecond: this.#perSecond,
      requests: traffic.kind === 'trace' ? traffic.timesMs.length : undefined,
      targetLatencyMs,
      slots,
      maxBatchSize: curve.maxBatchSize,
      noise,
      prefer,
      seed,
      aloneMs: curve.durationMs(1),
      fullMs: curve.durationMs(curve.maxBatchSize),
    };
  }
}

/** False when all requests arrive before the first responses: latencies then depend on the length of the run. */
function isMeaningful({ holds, lastArrivalMs }: Trial, targetLatencyMs: number): boolean {
  return holds || lastArrivalMs >= 4 * targetLatencyMs;
}

/** Close enough that one of the two is sufficient. */
function isNear(perSecond: number, other: number): boolean {
  return Math.abs(perSecond / other - 1) < 0.08;
}
