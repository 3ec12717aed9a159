/**
 * Service curves from files: the name of a curve of the grid, a formula, a table or a stored measurement. Validated at
 * every batch size.
 */

import { GRID_CURVES } from '../grid/grid-curves.js';
import { type Curve, formulaCurve, type MeasuredPoint, monotone, tableCurve } from '../simulation/curve.js';
import { parseFormula } from './curve-formula.js';
import { parseJson } from './json-text.js';
import { Place, quoted } from './place.js';
import { validFields, validKeys, validList, validPositive, validWhole } from './valid.js';

/** Small enough to check every size. */
export const LARGEST_BATCH = 65_536;
const MAX_POINTS = 1000;
/** A longer duration is a mistake in the unit. */
const LONGEST_BATCH_MS = 1e8;

export interface CurveOptions {
  /**
   * The maximum batch size; required for a formula.
   * @default the largest size of the table
   */
  readonly maxBatchSize?: number | undefined;
}

/**
 * Parses a curve from a JSON value:
 * - `"resnet50"`, a curve of the grid
 * - `"5 + 0.1*b"`, a formula
 * - `[{ "size": 1, "ms": 5.6 }, { "size": 8, "ms": 7.2 }]`
 * - `{ "1": 5.6, "8": 7.2 }`
 * - `{ "1": { "p50_ms": 5.6 }, "8": { "p50_ms": 7.2 } }`
 * - an object with one of the last two under a name of its own
 *
 * Linear between the points; below the first point constant, as with padding; linear beyond the last one. Points that
 * decrease (a larger batch that is quicker) are pooled.
 *
 * @throws {ArenaError} INVALID_CURVE
 */
export function parseCurve(value: unknown, name: string, options: CurveOptions = {}): Curve {
  return curveAt(new Place('INVALID_CURVE', name), value, name, options.maxBatchSize);
}

/** Parses a curve from the text of a JSON file. */
export function parseCurveText(text: string, name: string, options: CurveOptions = {}): Curve {
  const place = new Place('INVALID_CURVE', name);
  return curveAt(place, parseJson(text, place), name, options.maxBatchSize);
}

export function curveAt(place: Place, value: unknown, name: string, maxBatchSize?: number): Curve {
  if (maxBatchSize !== undefined) validWhole(place.key('max_batch_size'), maxBatchSize, 1, LARGEST_BATCH);
  if (typeof value === 'string') return namedCurveOrFormula(place, value.trim(), maxBatchSize);
  if (typeof value !== 'object' || value === null) {
    throw place.expected('the name of a curve, a formula or a table', value);
  }
  const points = Array.isArray(value) ? listedPoints(place, value) : keyedPoints(place, value);
  const largest = maxBatchSize ?? Math.floor((points.at(-1) as MeasuredPoint).size);
  return checkedCurve(place, tableCurve(name, monotone(points), Math.max(1, largest)));
}

/** A single word is a name; anything else is a formula. */
function namedCurveOrFormula(place: Place, text: string, maxBatchSize: number | undefined): Curve {
  const known = GRID_CURVES.find(({ name }) => name === text);
  if (known !== undefined)
    return maxBatchSize === undefined ? known : checkedCurve(place, { ...known, maxBatchSize });
  if (/^[A-Za-z_][\w-]*$/.test(text)) {
    const names = GRID_CURVES.map(({ name }) => name);
    throw place.unknown('curve', text, names);
  }
  if (text === '') throw place.expected('the name of a curve, a formula or a table', text);
  const durationMs = parseFormula(text, place);
  if (maxBatchSize === undefined) {
    throw place.error('a formula needs max_batch_size, because it has no largest size.');
  }
  return checkedCurve(place, formulaCurve(text, maxBatchSize, durationMs));
}

function listedPoints(place: Place, value: unknown): MeasuredPoint[] {
  const points: MeasuredPoint[] = [];
  validList(place, value, 'points { "size", "ms" }', MAX_POINTS).forEach((item, i) => {
    const here = place.index(i);
    const { size, ms } = validKeys(here, item, ['size', 'ms']);
    const point = {
      size: validPositive(here.key('size'), size, LARGEST_BATCH),
      ms: validPositive(here.key('ms'), ms, LONGEST_BATCH_MS),
    };
    const before = points.at(-1)?.size ?? 0;
    if (point.size <= before) {
      throw here.key('size').expected(`more than the size before (${before})`, point.size);
    }
    points.push(point);
  });
  return points;
}

function keyedPoints(place: Place, value: unknown): MeasuredPoint[] {
  const entries = Object.entries(validFields(place, value));
  if (entries.length === 0 || entries.length > MAX_POINTS) {
    throw place.error(`expected durations for 1 to ${MAX_POINTS} batch sizes, got ${entries.length}.`);
  }
  if (entries.every(([key]) => !isSize(key))) return namedPoints(place, entries);
  return entries
    .map(([key, duration]) => {
      if (!isSize(key)) throw place.error(`expected batch sizes as keys, got ${quoted(key)}.`);
      return { size: Number(key), ms: durationAt(place.key(key), duration) };
    })
    .sort((a, b) => a.size - b.size);
}

/** A file of measurements may have several curves by name; here it must have exactly one. */
function namedPoints(place: Place, entries: readonly (readonly [string, unknown])[]): MeasuredPoint[] {
  const names = entries.map(([name]) => name);
  const [only] = entries;
  if (entries.length > 1 || only === undefined || typeof only[1] !== 'object' || Array.isArray(only[1])) {
    const given = names.slice(0, 8).map(quoted).join(', ');
    throw place.error(`expected batch sizes as keys, or one curve under its name, got ${given}.`);
  }
  const here = place.key(only[0]);
  const inner = Object.entries(validFields(here, only[1]));
  if (!inner.some(([key]) => isSize(key))) throw here.expected('batch sizes as keys', only[1]);
  return keyedPoints(here, only[1]);
}

/** Milliseconds, or the measurements of a size, of which the median counts. */
function durationAt(place: Place, value: unknown): number {
  if (typeof value !== 'object' || value === null) return validPositive(place, value, LONGEST_BATCH_MS);
  return validPositive(place.key('p50_ms'), validFields(place, value).p50_ms, LONGEST_BATCH_MS);
}

function isSize(key: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(key) && Number(key) > 0 && Number(key) <= LARGEST_BATCH;
}

/** A formula or the extrapolation of a table may be negative. */
function checkedCurve(place: Place, curve: Curve): Curve {
  for (let size = 1; size <= curve.maxBatchSize; size++) {
    const ms = curve.durationMs(size);
    if (ms > 0 && ms <= LONGEST_BATCH_MS) continue;
    throw place.expected(
      `a duration above 0 ms for every batch, at most ${LONGEST_BATCH_MS}`,
      ms,
      ` That is at size ${size}.`,
    );
  }
  return curve;
}
