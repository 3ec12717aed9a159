/** The faults of the backend in a scenario file, and the `curve` option of the batcher. */
import { type Curve, curvePoints } from '../simulation/curve.js';
import type { Scenario } from '../simulation/scenario.js';
import { curveAt } from './curve-file.js';
import type { Place } from './place.js';
import {
  type Fields,
  validFields,
  validKeys,
  validList,
  validMs,
  validMsAboveZero,
  validNumber,
  validOneOf,
  validPositive,
  validShare,
} from './valid.js';

type Faults = Pick<Scenario, 'slowdown' | 'tail' | 'stalls' | 'hang' | 'knownCurve'>;

export const FAULT_KEYS: readonly string[] = ['slowdown', 'tail', 'stalls', 'hang', 'known_curve'];

const MAX_FACTOR = 1000;
const MAX_STALLS = 1000;
/** Limits of the Pareto index: close to 1 the mean is infinite, above 100 there is hardly a tail. */
const ALPHAS = [1.1, 100] as const;

export function faultsAt(place: Place, fields: Fields, curve: Curve): Faults {
  const { slowdown, tail, stalls, hang, known_curve: known } = fields;
  return {
    ...(slowdown === undefined ? {} : { slowdown: validSlowdown(place.key('slowdown'), slowdown) }),
    ...(tail === undefined ? {} : { tail: validTail(place.key('tail'), tail) }),
    ...(stalls === undefined ? {} : { stalls: validStalls(place.key('stalls'), stalls) }),
    ...(hang === undefined ? {} : { hang: validSpell(place.key('hang'), hang) }),
    ...(known === undefined
      ? {}
      : {
          knownCurve: curvePoints(
            curveAt(place.key('known_curve'), known, 'known_curve', curve.maxBatchSize),
          ),
        }),
  };
}

function validSlowdown(place: Place, value: unknown): NonNullable<Scenario['slowdown']> {
  const { at_ms, factor, over_ms = 0 } = validKeys(place, value, ['at_ms', 'factor', 'over_ms']);
  const overMs = validMs(place.key('over_ms'), over_ms);
  return {
    atMs: validMs(place.key('at_ms'), at_ms),
    factor: validPositive(place.key('factor'), factor, MAX_FACTOR),
    ...(overMs === 0 ? {} : { overMs }),
  };
}

function validTail(place: Place, value: unknown): NonNullable<Scenario['tail']> {
  const kind = validOneOf(place.key('kind'), validFields(place, value).kind, ['pareto', 'outliers']);
  if (kind === 'pareto') {
    const { alpha } = validKeys(place, value, ['kind', 'alpha']);
    return { kind, alpha: validNumber(place.key('alpha'), alpha, ...ALPHAS) };
  }
  const { share, factor } = validKeys(place, value, ['kind', 'share', 'factor']);
  return {
    kind,
    share: validShare(place.key('share'), share),
    factor: validPositive(place.key('factor'), factor, MAX_FACTOR),
  };
}

function validStalls(place: Place, value: unknown): NonNullable<Scenario['stalls']> {
  return validList(place, value, 'stalls { "at_ms", "ms" }', MAX_STALLS).map((stall, i) =>
    validSpell(place.index(i), stall),
  );
}

export function validSpell(place: Place, value: unknown): { readonly atMs: number; readonly ms: number } {
  const { at_ms, ms } = validKeys(place, value, ['at_ms', 'ms']);
  return { atMs: validMs(place.key('at_ms'), at_ms), ms: validMsAboveZero(place.key('ms'), ms) };
}
