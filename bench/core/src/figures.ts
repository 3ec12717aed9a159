/** All figures, in the order of the report. */
import type { Figure } from './figure.js';
import { cancel } from './figures/cancel.js';
import { decide } from './figures/decide.js';
import { depth } from './figures/depth.js';
import { enqueue } from './figures/enqueue.js';
import { idle } from './figures/idle.js';
import { memory } from './figures/memory.js';
import { signal } from './figures/signal.js';
import { throughput } from './figures/throughput.js';
import { turn } from './figures/turn.js';

export const figures: readonly Figure[] = [
  throughput,
  signal,
  enqueue,
  depth,
  memory,
  cancel,
  turn,
  decide,
  idle,
];
