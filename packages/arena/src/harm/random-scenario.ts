/**
 * Random scenarios for the check that the policy does no harm: backends of all shapes, with faults, under all kinds of
 * traffic. One seed gives one scenario, as the content of a scenario file, so that it can be run again by itself.
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

/** When the backend changes for the last time, if it changes. */
const CHANGED_MS = 1500;
/** From so long after the last change on, the policy must be as good as greedy dispatch. */
const SETTLED_MS = 2000;
/** How long is measured then, at least, in milliseconds and in items: enough for means to differ by less than 5 % by chance. */
const MEASURED_MS = 3000;
const MEASURED_ITEMS = 4000;
/** A backend that would get more items takes smaller batches instead: a hundred scenarios have to run in half a minute. */
const MOST_ITEMS = 20_000;
/** A closed loop that gets so far ends early: its callers are rejected and come back at once. */
const CLOSED_ITEMS = 200_000;

const TAILS = [
  { kind: 'pareto', alpha: 2.5 },
  { kind: 'outliers', share: 0.05, factor: 5 },
  { kind: 'outliers', share: 0.01, factor: 20 },
] as const;

/** Faults that end at CHANGED_MS, and by how much batches are slower from then on. */
const CHANGES = {
  none: { slower: 1, keys: {} },
  stall: { slower: 1, keys: { stalls: [{ at_ms: CHANGED_MS - 300, ms: 300 }] } },
  slower: { slower: 2, keys: { slowdown: { at_ms: CHANGED_MS, factor: 2 } } },
  quicker: { slower: 0.5, keys: { slowdown: { at_ms: CHANGED_MS, factor: 0.5 } } },
  drift: { slower: 2, keys: { slowdown: { at_ms: 500, factor: 2, over_ms: CHANGED_MS - 500 } } },
} as const;

/** The `curve` option, as a multiple of the truth; none most of the time. */
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
    if (items > MOST_ITEMS && maxBatchSize > 4) continue;
    // Some targets leave time for full batches, others only for small ones.
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
        // How many items come of a closed loop is up to the policy.
        ...(isClosed ? { items: CLOSED_ITEMS, until_ms: untilMs } : { items }),
        ...(hasTarget ? { target_ms: rounded(budgetMs * Math.max(1, slower)) } : {}),
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
