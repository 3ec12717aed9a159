/**
 * Random scenarios for the comparison with greedy dispatch: curves of all shapes, faults, and all kinds of traffic. A
 * seed determines a scenario, which is the content of a scenario file, so that it can be run on its own.
 */
import { parseCurve } from '../files/curve-file.js';
import { capacity } from '../simulation/curve.js';
import { randomStream } from '../simulation/random.js';
import { between, rounded, SHAPES } from './random-curve.js';
import { closedTraffic, openTraffic } from './random-traffic.js';

export interface RandomScenario {
  readonly seed: number;
  /** The kinds of curve, traffic and faults, for the table. */
  readonly tags: readonly string[];
  /** The content of a scenario file. */
  readonly file: Readonly<Record<string, unknown>>;
}

/** The time of the last change of the backend, if it changes. */
const CHANGED_MS = 1500;
/** Time after the last change until the measurement begins. */
const SETTLED_MS = 2000;
/** Minimum length of the measurement, in milliseconds and in items: the standard error of a mean is then small against 5 %. */
const MEASURED_MS = 3000;
const MEASURED_ITEMS = 4000;
/** With more items the scenario gets a smaller maximum batch size, so that a hundred scenarios run in half a minute. */
const MAX_ITEMS = 20_000;
/** Ends a closed loop whose users are rejected and retry without delay. */
const CLOSED_ITEMS = 200_000;

const TAILS = [
  { kind: 'pareto', alpha: 2.5 },
  { kind: 'outliers', share: 0.05, factor: 5 },
  { kind: 'outliers', share: 0.01, factor: 20 },
] as const;

/** Faults that end at CHANGED_MS, and the factor of the durations from then on. */
const CHANGES = {
  none: { slower: 1, keys: {} },
  stall: { slower: 1, keys: { stalls: [{ at_ms: CHANGED_MS - 300, ms: 300 }] } },
  slower: { slower: 2, keys: { slowdown: { at_ms: CHANGED_MS, factor: 2 } } },
  quicker: { slower: 0.5, keys: { slowdown: { at_ms: CHANGED_MS, factor: 0.5 } } },
  drift: { slower: 2, keys: { slowdown: { at_ms: 500, factor: 2, over_ms: CHANGED_MS - 500 } } },
} as const;

/** The `curve` option, as a multiple of the true curve; usually none. */
const PRIORS = [undefined, undefined, undefined, undefined, 1, 0.1, 3, 10];

export function randomScenario(seed: number): RandomScenario {
  const random = randomStream(seed, 'do no harm');
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const slots = pick([1, 1, 2, 3, 4, 6, 8]);
  const shape = pick(SHAPES);
  const firstMs = between(random, 1, 20);
  const steepness = random();
  const hasTarget = random() < 0.5;
  const load = between(random, 0.1, hasTarget ? 1.3 : 0.9);
  const noise = pick([0, 0.05, 0.05, 0.15, 0.3]);
  const tail = pick([undefined, undefined, undefined, ...TAILS]);
  const change = pick(['none', 'none', 'none', 'stall', 'slower', 'quicker', 'drift'] as const);
  const { slower, keys } = CHANGES[change];
  const prior = pick(PRIORS);
  const isClosed = random() < 0.2;
  const trafficSeed = random();
  const fromMs = (change === 'none' ? 0 : CHANGED_MS) + SETTLED_MS;
  for (let maxBatchSize = Math.round(between(random, 6, 128)); ; maxBatchSize = Math.ceil(maxBatchSize / 2)) {
    const formula = shape.formula(firstMs, maxBatchSize, steepness);
    const curve = parseCurve(formula, 'curve', { maxBatchSize });
    const traffic = randomStream(Math.floor(trafficSeed * 2 ** 32), 'traffic');
    const perMs = (load * slots * capacity(curve).perMs) / Math.max(1, slower);
    const { arrivals, perMs: itemsPerMs } = isClosed
      ? closedTraffic(traffic, curve, slots)
      : openTraffic(traffic, curve, slots, perMs);
    const untilMs = Math.ceil(fromMs + Math.max(MEASURED_MS, MEASURED_ITEMS / itemsPerMs));
    const items = Math.ceil(itemsPerMs * untilMs);
    if (items > MAX_ITEMS && maxBatchSize > 4) continue;
    // Half of the targets allow full batches, the other half small ones only.
    const budgetMs =
      traffic() < 0.5
        ? curve.durationMs(maxBatchSize) * between(traffic, 1.2, 4)
        : firstMs * between(traffic, 2.5, 6);
    return {
      seed,
      tags: [
        shape.name,
        arrivals.kind,
        slots === 1 ? '1 slot' : 'several slots',
        hasTarget ? 'target' : 'no target',
        noise === 0.3 ? 'noise 30 %' : 'little noise',
        tail?.kind ?? 'no tail',
        change === 'none' ? 'no change' : change,
        prior === undefined ? 'no curve option' : `curve option × ${prior}`,
      ],
      file: {
        name: `harm-${seed}`,
        curve: formula,
        max_batch_size: maxBatchSize,
        slots,
        arrivals,
        // In a closed loop the number of items depends on the policy.
        ...(isClosed ? { items: CLOSED_ITEMS, until_ms: untilMs } : { items }),
        ...(hasTarget ? { target_latency_ms: rounded(budgetMs * Math.max(1, slower)) } : {}),
        noise,
        ...(tail === undefined ? {} : { tail }),
        ...keys,
        ...(prior === undefined ? {} : { known_curve: `${prior} * (${formula})` }),
        measure_from_ms: fromMs,
        seeds: [seed],
        policies: ['adaptive', 'greedy', 'adaptive-no-admission'],
      },
    };
  }
}
