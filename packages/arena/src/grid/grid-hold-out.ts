/**
 * Backends on which nothing was ever tuned: what the policy does here it does because its rules hold, not
 * because they were bent to fit. Use them to check, never to choose a constant.
 */
import { type Curve, formulaCurve, tableCurve } from '../simulation/curve.js';

export const HOLD_OUT_CURVES: readonly Curve[] = [
  // Twice as dear an item from the 17th on.
  formulaCurve('knee', 48, (b) => 3 + 0.4 * Math.min(b, 16) + 0.9 * Math.max(0, b - 16)),
  // Steps that are no powers of two, and whose number is no multiple of anything.
  formulaCurve('fives', 40, (b) => 2 + 1.5 * Math.ceil(b / 5)),
  // As a measurement might look: flat, a jump, a slope.
  tableCurve('rough', [
    { size: 1, ms: 4.1 },
    { size: 2, ms: 4.3 },
    { size: 4, ms: 4.4 },
    { size: 8, ms: 4.9 },
    { size: 16, ms: 5.2 },
    { size: 32, ms: 7.9 },
    { size: 48, ms: 9.1 },
    { size: 64, ms: 13.6 },
    { size: 96, ms: 17.8 },
  ]),
  // Its largest batch is far from its best.
  formulaCurve('worse past 24', 40, (b) => 2 + 0.3 * Math.min(b, 24) + 1.2 * Math.max(0, b - 24)),
  // One great step.
  formulaCurve('two floors', 100, (b) => (b <= 32 ? 6 : 14)),
  // Next to nothing to gain by company.
  formulaCurve('steep', 16, (b) => 0.4 + 1.5 * b),
];
