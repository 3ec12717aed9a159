/** The simulations of a plan: given settings under a given load, with the production batcher. */

import { type Curve, steadyBatchSize } from '../simulation/curve.js';
import { measure } from '../simulation/measures.js';
import type { Contender, Scenario } from '../simulation/scenario.js';
import { type Run, simulate } from '../simulation/simulate.js';
import { knownPoints } from './plan-curve.js';
import { cappedCurve, HOLDS_FROM, type Question } from './plan-request.js';
import { plannedPolicy } from './plan-settings.js';
import { arrivalsAt } from './plan-traffic.js';

export interface Setup {
  readonly slots: number;
  readonly maxBatchSize: number;
  readonly perSecond: number;
  readonly targetLatencyMs: number;
}

/** The figures of a load. */
export interface LoadResult {
  readonly perSecond: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of all requests with a response within the target. */
  readonly goodput: number;
  /** Share of all requests that were rejected. */
  readonly refused: number;
  readonly meanBatchSize: number;
  readonly batchesPerSecond: number;
  /** Share of the time of all slots in which a batch was running. */
  readonly utilisation: number;
}

export interface Trial extends LoadResult {
  /** Whether the target is held: goodput is at least `HOLDS_FROM`. */
  readonly holds: boolean;
  /** Maximum queue length. */
  readonly deepestQueue: number;
  /** Time of the last arrival. */
  readonly lastArrivalMs: number;
}

const FEWEST_ITEMS = 10_000;
const MAX_ITEMS = 120_000;
/** Batches per run, and per slot, about: with fewer, results near the limit depend on chance. */
const BATCHES = 1000;
const BATCHES_PER_SLOT = 40;
/** Minimum length of a run, as a multiple of the target: a slowly growing queue needs time to show. */
const TARGETS = 40;
/** Share of a run that is not measured, because it begins with an empty queue. */
const WARM_UP = 0.1;

/** Runs each setup once. */
export class Trials {
  readonly #question: Question;
  readonly #done = new Map<string, Promise<Trial>>();
  readonly #onTrial: () => void;

  constructor(question: Question, onTrial: () => void = () => {}) {
    this.#question = question;
    this.#onTrial = onTrial;
  }

  run(setup: Setup): Promise<Trial> {
    const key = JSON.stringify([setup.slots, setup.maxBatchSize, setup.perSecond, setup.targetLatencyMs]);
    let trial = this.#done.get(key);
    if (trial === undefined) {
      trial = this.#simulate(setup);
      this.#done.set(key, trial);
    }
    return trial;
  }

  async #simulate(setup: Setup): Promise<Trial> {
    const { scenario, contender } = simulationOf(this.#question, setup);
    const run = await simulate(scenario, contender);
    this.#onTrial();
    return trialOf(run, setup.perSecond, firstCounted(this.#question, run));
  }
}

export function simulationOf(
  question: Question,
  setup: Setup,
): { readonly scenario: Scenario; readonly contender: Contender } {
  const { curve, traffic, noise, timerMs, seed, prefer } = question;
  const { slots, maxBatchSize, perSecond, targetLatencyMs } = setup;
  const capped = cappedCurve(curve, maxBatchSize);
  const scenario: Scenario = {
    name: 'plan',
    curve: capped,
    slots,
    arrivals: arrivalsAt(traffic, perSecond),
    items: traffic.kind === 'trace' ? traffic.timesMs.length : (question.items ?? itemsFor(capped, setup)),
    targetLatencyMs,
    noise,
    timerMs,
    seed,
  };
  const contender: Contender = {
    name: 'plan',
    policy: () => plannedPolicy(prefer).make(),
    knowsTarget: true,
    knowsCurve: knownPoints(capped),
  };
  return { scenario, contender };
}

/** The index of the first measured request; of a trace all requests are measured. */
function firstCounted({ traffic }: Question, { latencyMs }: Run): number {
  return traffic.kind === 'trace' ? 0 : Math.floor(WARM_UP * latencyMs.length);
}

function trialOf(run: Run, perSecond: number, from: number): Trial {
  const { arrivedAt, scenario } = run;
  const { meanMs, p50Ms, p99Ms, goodput, refused, busyMs, batches, meanBatchSize } = measure(run, from);
  const lastBatch = run.batches.at(-1);
  const endsAt = Math.max(
    arrivedAt.at(-1) ?? 0,
    lastBatch === undefined ? 0 : lastBatch.startedAt + lastBatch.durationMs,
  );
  const spanMs = endsAt - (arrivedAt[from] ?? 0);
  return {
    perSecond,
    meanMs,
    p50Ms,
    p99Ms,
    goodput,
    refused,
    meanBatchSize,
    batchesPerSecond: (batches / spanMs) * 1000,
    utilisation: busyMs / (scenario.slots * spanMs),
    holds: goodput >= HOLDS_FROM,
    deepestQueue: deepestQueueOf(run),
    lastArrivalMs: arrivedAt.at(-1) ?? 0,
  };
}

function itemsFor(curve: Curve, { slots, perSecond, targetLatencyMs }: Setup): number {
  const perMs = perSecond / 1000;
  const size = steadyBatchSize(curve, slots, perMs);
  const wanted = Math.max(size * BATCHES, size * BATCHES_PER_SLOT * slots, TARGETS * targetLatencyMs * perMs);
  return Math.min(Math.max(Math.ceil(wanted), FEWEST_ITEMS), MAX_ITEMS);
}

/** The queue is longest just before a dispatch. Rejected requests are not queued. */
function deepestQueueOf({ latencyMs, batches }: Run): number {
  let deepest = 0;
  let arrived = 0;
  let accepted = 0;
  let dispatched = 0;
  for (const { itemsBefore, size } of batches) {
    while (arrived < itemsBefore) {
      if (!Number.isNaN(latencyMs[arrived])) accepted += 1;
      arrived += 1;
    }
    deepest = Math.max(deepest, accepted - dispatched);
    dispatched += size;
  }
  return deepest;
}
