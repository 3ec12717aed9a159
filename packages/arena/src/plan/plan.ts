/**
 * Answers the question that comes before a batcher is put to work: which settings, what latency, how much
 * can it take, how many slots? Every number comes from a simulation of the production batcher with the
 * very settings that the plan recommends.
 */
import { efficientSize, knownPoints, sizesToTry } from './plan-curve.js';
import { ProgressTeller } from './plan-progress.js';
import { cappedCurve, MOST_SLOTS, type PlanRequest, type Question, validRequest } from './plan-request.js';
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
  readonly asked: Asked;
  readonly verdict: Verdict;
  /** What to give the batcher; undefined when there is nothing that would do, at any rate. */
  readonly settings: PlanSettings | undefined;
  /** What the traffic comes to with these settings; undefined when it is so far too much that there is nothing to tell. */
  readonly expected: LoadResult | undefined;
  /** The largest rate that holds the target with these settings, and what it comes to. */
  readonly largest: LoadResult | undefined;
  /** The fewest slots that hold the target at the rate asked for; undefined when 64 do not. */
  readonly slotsNeeded: number | undefined;
  /** What other rates come to with these settings, from hardly any to too many. */
  readonly loads: readonly LoadResult[];
}

export interface Asked {
  readonly curve: string;
  readonly traffic: 'rate' | 'trace';
  readonly perSecond: number;
  /** How many requests each simulation of a trace is. */
  readonly requests: number | undefined;
  readonly targetMs: number;
  readonly slots: number | undefined;
  readonly maxBatchSize: number;
  readonly noise: number;
  readonly prefer: Prefer;
  readonly seed: number;
  /** How long the smallest and the largest batch take. */
  readonly aloneMs: number;
  readonly fullMs: number;
}

export type Verdict =
  | { readonly kind: 'holds' }
  /** Fewer were given than are needed; or those given would hold a higher target. */
  | { readonly kind: 'too few slots'; readonly lowestTargetMs: number | undefined }
  /** Even a lone request now and then is not answered in time. So many slots would hold a higher target. */
  | { readonly kind: 'target too low'; readonly lowestTargetMs: number | undefined; readonly slots: number }
  /** More than 64 slots are needed, about this many. */
  | { readonly kind: 'rate too high'; readonly slotsNeeded: number | undefined };

/** The rates of the picture, as shares of the largest that holds the target. */
const LOADS = [0.02, 0.15, 0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.15, 1.3];
/** The load at which the queue is at its deepest: the target refuses what is too much. */
const OVERLOAD = 1.3;
/** How much longer than it ever was the queue may become before the last resort. */
const QUEUE_MARGIN = 2;
/** How busy the slots may be where their number is only guessed. */
const COMFORTABLE = 0.8;
/** Hardly any traffic, as a share of what a slot can do. */
const TRICKLE = 0.01;

export async function makePlan(request: PlanRequest): Promise<Plan> {
  const question = validRequest(request);
  const sizes = sizesToTry(question.curve, question.targetMs);
  return new Planning(question, new ProgressTeller(request.onProgress)).plan(sizes);
}

class Planning {
  readonly #question: Question;
  readonly #progress: ProgressTeller;
  readonly #trials: Trials;
  readonly #perSecond: number;

  constructor(question: Question, progress: ProgressTeller) {
    this.#question = question;
    this.#progress = progress;
    this.#trials = new Trials(question, () => progress.advance());
    this.#perSecond = rateOf(question.traffic);
  }

  async plan(sizes: readonly number[]): Promise<Plan> {
    const question = this.#question;
    const { targetMs } = question;
    const likelySlots = question.slots ?? this.#comfortableSlots();

    this.#progress.begin('one request at a time', 0.03, 1);
    if (!(await this.#trickleHolds())) return this.#targetTooLow(likelySlots);

    const searches = sizes.length === 1 ? 0 : sizes.length;
    this.#progress.begin('choosing the batch size', 0.03 + 0.15 * searches, 8 * searches);
    const maxBatchSize = await bestBatchSize(this.#trials, question, sizes, likelySlots);
    const load = { perSecond: this.#perSecond, targetMs, maxBatchSize };

    this.#progress.begin('counting slots', 0.55, 4);
    const slotsNeeded = await fewestSlots(this.#trials, question, load);
    const slots = question.slots ?? slotsNeeded ?? MOST_SLOTS;
    const expected = await this.#trials.run({ ...load, slots });

    this.#progress.begin('finding the largest rate', 0.7, 8);
    const known = expected.holds ? this.#perSecond : 0;
    const largest = await this.#largest({ slots, maxBatchSize, targetMs }, known);
    const verdict = await this.#verdict(expected, largest, slotsNeeded, { ...load, slots });

    this.#progress.begin('trying other loads', 1, LOADS.length);
    const loads = await this.#loads(largest?.perSecond, { slots, maxBatchSize, targetMs });
    const deepest = Math.max(expected.deepestQueue, ...loads.map(({ deepestQueue }) => deepestQueue));
    return {
      asked: this.#asked(),
      verdict,
      settings: {
        maxBatchSize,
        concurrency: slots,
        targetLatencyMs: targetMs,
        maxQueueSize: Math.max(maxBatchSize, Math.ceil(rounded(QUEUE_MARGIN * deepest, 'up'))),
        policy: plannedPolicy(question.prefer),
        curve: knownPoints(cappedCurve(question.curve, maxBatchSize)),
      },
      expected: tellsEnough(expected, targetMs) ? expected : undefined,
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
      if (largest === undefined || setup.slots < MOST_SLOTS) {
        return { kind: 'rate too high', slotsNeeded: this.#slotsByWork(setup.maxBatchSize) };
      }
      const share = setup.perSecond / largest.perSecond;
      return { kind: 'rate too high', slotsNeeded: Math.ceil(setup.slots * share) };
    }
    return { kind: 'too few slots', lowestTargetMs: await this.#lowestTarget(setup.slots) };
  }

  /** The lowest target that so many slots would hold, with batches as large as that allows. */
  #lowestTarget(slots: number): Promise<number | undefined> {
    this.#progress.begin('looking for a target that could be held', 0.8, 12);
    const maxBatchSize = efficientSize(this.#question.curve);
    return lowestTarget(this.#trials, this.#question, { slots, maxBatchSize, perSecond: this.#perSecond });
  }

  /** The fewest slots that could do the work at all, if that is more than are tried. */
  #slotsByWork(maxBatchSize: number): number | undefined {
    const slots = Math.ceil(this.#perSecond / capacityPerSecond(this.#question, 1, maxBatchSize));
    return slots > MOST_SLOTS ? slots : undefined;
  }

  async #targetTooLow(slots: number): Promise<Plan> {
    const lowestTargetMs = await this.#lowestTarget(slots);
    return {
      asked: this.#asked(),
      verdict: { kind: 'target too low', lowestTargetMs, slots },
      settings: undefined,
      expected: undefined,
      largest: undefined,
      slotsNeeded: undefined,
      loads: [],
    };
  }

  /** Whether the target is held when there is hardly any traffic. */
  async #trickleHolds(): Promise<boolean> {
    const { targetMs, curve } = this.#question;
    const perSecond = TRICKLE * capacityPerSecond(this.#question, 1, 1);
    // Of a trace, too, only what comes alone: the bursts of one are no slower when it is played slowly.
    const question: Question = { ...this.#question, traffic: { kind: 'rate', perSecond }, items: 2000 };
    const trials = new Trials(question, () => this.#progress.advance());
    const setup = { slots: 1, maxBatchSize: curve.maxBatchSize, perSecond, targetMs };
    return (await trials.run(setup)).holds;
  }

  async #loads(largest: number | undefined, setup: Omit<Setup, 'perSecond'>): Promise<Trial[]> {
    if (largest === undefined) return [];
    const asked = this.#perSecond;
    const others = LOADS.map((share) => rounded(share * largest, 'down')).filter(
      (perSecond) => perSecond !== asked && (perSecond === largest || !isNear(perSecond, asked)),
    );
    const rates = asked <= OVERLOAD * largest ? [...others, asked] : others;
    const trials: Trial[] = [];
    for (const perSecond of [largest, ...rates].sort((a, b) => a - b)) {
      if (perSecond === trials.at(-1)?.perSecond) continue;
      trials.push(await this.#trials.run({ ...setup, perSecond }));
    }
    return trials;
  }

  #comfortableSlots(): number {
    const perSlot = capacityPerSecond(this.#question, 1, this.#question.curve.maxBatchSize);
    return Math.min(MOST_SLOTS, Math.max(1, Math.ceil(this.#perSecond / (COMFORTABLE * perSlot))));
  }

  #asked(): Asked {
    const { curve, traffic, targetMs, slots, noise, prefer, seed } = this.#question;
    return {
      curve: curve.name,
      traffic: traffic.kind,
      perSecond: this.#perSecond,
      requests: traffic.kind === 'trace' ? traffic.timesMs.length : undefined,
      targetMs,
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

/** A rate far beyond all slots is over before the first has been answered: that tells nothing but that. */
function tellsEnough({ holds, lastedMs }: Trial, targetMs: number): boolean {
  return holds || lastedMs >= 4 * targetMs;
}

/** So near that the one tells nothing that the other does not. */
function isNear(perSecond: number, other: number): boolean {
  return Math.abs(perSecond / other - 1) < 0.08;
}
