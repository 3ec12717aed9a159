/** Random traffic, as `arrivals` of a scenario file. */
import { type Curve, capacity } from '../simulation/curve.js';
import type { Random } from '../simulation/random.js';
import { between, rounded } from './random-curve.js';

interface RandomTraffic {
  readonly arrivals: { readonly kind: string; readonly [key: string]: unknown };
  /** Items per millisecond, about. */
  readonly perMs: number;
}

const KINDS = ['poisson', 'poisson', 'mmpp', 'on_off', 'fan_out', 'lognormal', 'bursts'] as const;
/** Maximum load of bursts, so that a burst is usually served before the next one. */
const MAX_BURST_LOAD = 0.6;

export function openTraffic(random: Random, curve: Curve, slots: number, perMs: number): RandomTraffic {
  const kind = KINDS[Math.floor(random() * KINDS.length)] as (typeof KINDS)[number];
  const fullMs = curve.durationMs(curve.maxBatchSize);
  const rate = rounded(1000 * perMs);
  const phaseMs = rounded(fullMs * between(random, 2, 20));
  switch (kind) {
    case 'mmpp':
      return { arrivals: { kind, rate, state_ms: phaseMs }, perMs };
    case 'on_off':
      return { arrivals: { kind, rate, phase_ms: phaseMs }, perMs };
    case 'fan_out':
      return { arrivals: { kind, rate, size: Math.round(between(random, 2, 32)) }, perMs };
    case 'bursts': {
      const periodMs = between(random, 200, 1500);
      const most = MAX_BURST_LOAD * slots * capacity(curve).perMs * periodMs;
      const items = Math.min(slots * curve.maxBatchSize * between(random, 0.5, 8), most);
      const burstMs = between(random, 1, 20);
      const phases = [
        { rate: rounded((1000 * items) / burstMs), ms: burstMs },
        { rate: 0, ms: rounded(periodMs - burstMs) },
      ];
      return { arrivals: { kind: 'phases', phases }, perMs: items / periodMs };
    }
    default:
      return { arrivals: { kind, rate }, perMs };
  }
}

/** From one user to several batches of users, with short or long think times. */
export function closedTraffic(random: Random, curve: Curve, slots: number): RandomTraffic {
  const users = Math.max(1, Math.round(slots * between(random, 1, 3 * curve.maxBatchSize)));
  const ownMs = curve.durationMs(Math.min(curve.maxBatchSize, Math.ceil(users / slots)));
  const thinkMs = rounded(ownMs * between(random, 0.01, 4));
  const thinking = random() < 0.3 ? 'constant' : 'exponential';
  const perMs = Math.min(users / (thinkMs + ownMs), slots * capacity(curve).perMs);
  return { arrivals: { kind: 'closed', users, think_ms: thinkMs, thinking }, perMs };
}
