/** All figures, in the order of the report. */
import type { Figure } from '@batchwise/bench-harness';
import { echo64, echo256, echo1000 } from './figures/echo.js';
import { formula } from './figures/formula.js';
import { lone } from './figures/lone.js';
import { seed } from './figures/seed.js';

export const figures: readonly Figure[] = [echo64, echo256, echo1000, lone, seed, formula];
