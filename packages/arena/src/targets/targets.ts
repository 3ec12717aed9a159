/** All targets in virtual time. Target 8, the cost of a decision, is in real time: `npm run bench:core`. */

import { admission } from './admission.js';
import { bestPeer } from './best-peer.js';
import { closedLoop } from './closed-loop.js';
import { efficiency } from './efficiency.js';
import { goodput } from './goodput.js';
import { groups } from './groups.js';
import { oneSlot, twoSlots } from './poisson.js';
import { roughBackend } from './rough-backend.js';
import type { Target } from './target.js';
import { unequalBackends } from './unequal-backends.js';

export const TARGETS: readonly Target[] = [
  oneSlot,
  twoSlots,
  bestPeer,
  goodput,
  efficiency,
  closedLoop,
  roughBackend,
  admission,
  groups,
  unequalBackends,
];

export const TARGET_NUMBERS: readonly number[] = TARGETS.map(({ number }) => number);

export function targetNamed(name: string): Target {
  const target = TARGETS.find((candidate) => candidate.name === name);
  if (target === undefined) throw new RangeError(`There is no target ${name}.`);
  return target;
}
