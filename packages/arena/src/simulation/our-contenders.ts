/** The policies of Batchwise as contenders, and all contenders that a scenario file may name. */
import { adaptive } from 'batchwise';
import { PEERS } from '../peers/peers.js';
import type { Contender } from './scenario.js';

const latency: Contender = { name: 'adaptive', policy: () => adaptive(), knowsTarget: true };
const efficiency: Contender = {
  name: 'efficiency',
  policy: () => adaptive({ prefer: 'efficiency' }),
  knowsTarget: true,
};

export const OURS: readonly Contender[] = [latency, efficiency];

/** Variants that separate the effects of batch formation, learning and admission control. */
export const VARIANTS = {
  adaptive: latency,
  efficiency,
  /** Isolates batch formation: items are rejected by the policy only. */
  noAdmission: { ...latency, name: 'adaptive-no-admission', admission: false },
  /** Isolates batch formation from learning. */
  trueCurve: { ...latency, name: 'adaptive, true curve', knowsCurve: true },
  trueCurveNoAdmission: {
    ...latency,
    name: 'adaptive, true curve, no admission',
    admission: false,
    knowsCurve: true,
  },
  efficiencyTrueCurve: { ...efficiency, name: 'efficiency, true curve', knowsCurve: true },
} as const satisfies Record<string, Contender>;

export const CONTENDERS: ReadonlyMap<string, Contender> = new Map(
  [...OURS, VARIANTS.noAdmission, ...PEERS].map((contender) => [contender.name, contender]),
);
