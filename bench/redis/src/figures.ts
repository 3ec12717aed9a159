/** All figures, in the order of the report. */
import type { Figure } from './figure.js';
import { lone } from './figures/lone.js';
import { throughput100, throughput1000 } from './figures/throughput.js';
import { unequal } from './figures/unequal.js';

export const figures: readonly Figure[] = [throughput100, throughput1000, lone, unequal];
