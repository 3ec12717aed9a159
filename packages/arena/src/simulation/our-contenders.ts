/** Batchwise's own policies as contenders, and all contenders that a scenario may name. */
import { adaptive } from 'batchwise';
import { PEERS } from '../peers/peers.js';
import type { Contender } from './contender.js';

const latency: Contender = { name: 'adaptive', policy: () => adaptive(), knowsTarget: true };
const efficiency: Contender = {
  name: 'efficiency',
  policy: () => adaptive({ prefer: 'efficiency' }),
  knowsTarget: true,
};

export const OURS: readonly Contender[] = [latency, efficiency];

/** By what is judged: how batches are formed, how quickly the curve is learned, what the door does. */
export const VARIANTS = {
  adaptive: latency,
  efficiency,
  /** Nobody is refused at the door: how batches are formed decides alone. */
  openDoor: { ...latency, name: 'adaptive-no-admission', admission: false },
  /** Begins with the true curve. */
  trueCurve: { ...latency, name: 'adaptive, true curve', knowsCurve: true },
  trueCurveOpenDoor: {
    ...latency,
    name: 'adaptive, true curve, open door',
    admission: false,
    knowsCurve: true,
  },
  efficiencyTrueCurve: { ...efficiency, name: 'efficiency, true curve', knowsCurve: true },
} as const satisfies Record<string, Contender>;

export const CONTENDERS: ReadonlyMap<string, Contender> = new Map(
  [...OURS, VARIANTS.openDoor, ...PEERS].map((contender) => [contender.name, contender]),
);
