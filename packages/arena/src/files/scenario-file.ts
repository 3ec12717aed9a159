/**
 * Scenario files, for `batchwise arena --scenario file.json`; the format is in docs/reference/scenario.md. A file is
 * validated completely before anything runs.
 */
import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type Curve, capacity } from '../simulation/curve.js';
import type { Contender, Scenario } from '../simulation/scenario.js';
import { curveAt, LARGEST_BATCH } from './curve-file.js';
import { parseJson } from './json-text.js';
import { Place } from './place.js';
import { arrivalsAt, type FileArrivals } from './scenario-arrivals.js';
import { backendsAt } from './scenario-backends.js';
import { FAULT_KEYS, faultsAt } from './scenario-faults.js';
import { recordedTraits, TRAIT_KEYS, type TraitMixes, traitMixesAt } from './scenario-traits.js';
import { MAX_ARRIVALS } from './trace-file.js';
import {
  type Fields,
  validKeys,
  validList,
  validMs,
  validMsAboveZero,
  validNumber,
  validPositive,
  validShare,
  validString,
  validWhole,
} from './valid.js';

export interface ScenarioFile {
  readonly name: string;
  /** One scenario per seed. */
  readonly scenarios: readonly Scenario[];
  /** The policies to run. */
  readonly contenders: readonly Contender[];
}

export interface ScenarioOptions {
  /** The policies that a file may name, by name. */
  readonly contenders: ReadonlyMap<string, Contender>;
  /** Returns the text of a file; its name is relative to the scenario file. */
  readFile(name: string): string;
}

const KEYS: readonly string[] = [
  'name',
  'curve',
  'max_batch_size',
  'slots',
  'backends',
  'arrivals',
  'items',
  'target_latency_ms',
  'target_ms',
  'noise',
  'timer_ms',
  'seeds',
  'policies',
  'max_wait_ms',
  'batch_sizes',
  ...TRAIT_KEYS,
  ...FAULT_KEYS,
  'measure_from_ms',
  'until_ms',
  'obeys_retry_after',
];
const MAX_SLOTS = 1024;
const MAX_SEEDS = 1000;
const LARGEST_SEED = 2 ** 32 - 1;
const DEFAULT_ITEMS = 10_000;

/** Reads a scenario file from disk, with the trace that it may name. */
export function readScenarioFile(path: string, contenders: ReadonlyMap<string, Contender>): ScenarioFile {
  const folder = dirname(path);
  return parseScenario(readFileSync(path, 'utf8'), basename(path), {
    contenders,
    readFile: (name) => readFileSync(resolve(folder, name), 'utf8'),
  });
}

/**
 * @param fileName the name of the file in errors, and the default of `name`.
 * @throws {ArenaError} INVALID_SCENARIO
 */
export function parseScenario(text: string, fileName: string, options: ScenarioOptions): ScenarioFile {
  const place = new Place('INVALID_SCENARIO', fileName);
  const fields = validKeys(place, parseJson(text, place), KEYS);
  const name =
    fields.name === undefined
      ? fileName.replace(/\.json$/i, '')
      : validString(place.key('name'), fields.name);
  const curve = curveOf(place, fields, name);
  const backends = fields.backends === undefined ? undefined : backendsAt(place, fields, curve);
  const slots =
    backends === undefined
      ? validWhole(place.key('slots'), fields.slots ?? 1, 1, MAX_SLOTS)
      : backends.reduce((sum, backend) => sum + backend.slots, 0);
  const mixes = traitMixesAt(place, fields, curve.maxBatchSize);
  const served = backends ?? [{ curve, slots }];
  const perMs = served.reduce((sum, each) => sum + each.slots * capacity(each.curve).perMs, 0);
  const capacityPerMs = perMs / mixes.meanCost;
  const fileArrivals = arrivalsAt(place.key('arrivals'), fields.arrivals, { ...options, capacityPerMs });
  const scenario: Omit<Scenario, 'seed'> = {
    name,
    curve,
    slots,
    ...(backends === undefined ? {} : { backends }),
    arrivals: fileArrivals.arrivals,
    items: itemsOf(place.key('items'), fields.items, fileArrivals),
    targetLatencyMs: targetOf(place, fields),
    noise: validNumber(place.key('noise'), fields.noise ?? 0, 0, 3),
    timerMs: validNumber(place.key('timer_ms'), fields.timer_ms ?? 1, 0, 1000),
    ...optional('maxWaitMs', place.key('max_wait_ms'), fields.max_wait_ms, validMs),
    ...optional('batchSizes', place.key('batch_sizes'), fields.batch_sizes, validSizes),
    ...faultsAt(place, fields, curve),
    ...optional('measureFromMs', place.key('measure_from_ms'), fields.measure_from_ms, validMs),
    ...optional('untilMs', place.key('until_ms'), fields.until_ms, validMsAboveZero),
    ...optional('obeysRetryAfter', place.key('obeys_retry_after'), fields.obeys_retry_after, validShare),
    ...traitsOf(place, fileArrivals, mixes, curve),
  };
  const seeds = validSeeds(place.key('seeds'), fields.seeds ?? [1]);
  return {
    name,
    scenarios: seeds.map((seed) => ({ ...scenario, seed })),
    contenders: contendersOf(place.key('policies'), fields.policies, options.contenders),
  };
}

function curveOf(place: Place, fields: Fields, name: string): Curve {
  const here = place.key('max_batch_size');
  const { max_batch_size, curve } = fields;
  const maxBatchSize =
    max_batch_size === undefined ? undefined : validWhole(here, max_batch_size, 1, LARGEST_BATCH);
  return curveAt(place.key('curve'), curve, name, maxBatchSize);
}

/** All items of a recording by default. */
function itemsOf(place: Place, value: unknown, { trace }: FileArrivals): number {
  const recorded = trace?.timesMs.length;
  const items = validWhole(place, value ?? recorded ?? DEFAULT_ITEMS, 1, MAX_ARRIVALS);
  if (recorded === undefined || items <= recorded) return items;
  throw place.expected(`at most as many as there are times (${recorded})`, items);
}

/** `target_ms` is an alias. */
function targetOf(place: Place, { target_latency_ms, target_ms }: Fields): number {
  if (target_ms === undefined) return validTarget(place.key('target_latency_ms'), target_latency_ms);
  const here = place.key('target_ms');
  if (target_latency_ms !== undefined)
    throw here.error('an alias of target_latency_ms, which is also given.');
  return validTarget(here, target_ms);
}

/** JSON has no infinity: null, as no value, means no target. */
function validTarget(place: Place, value: unknown): number {
  return value === undefined || value === null ? Number.POSITIVE_INFINITY : validMsAboveZero(place, value);
}

function validSizes(place: Place, value: unknown): readonly number[] {
  let before = 0;
  return validList(place, value, 'rising numbers', LARGEST_BATCH).map((item, i) => {
    const size = validPositive(place.index(i), item, LARGEST_BATCH);
    if (size <= before) throw place.index(i).expected(`more than the size before (${before})`, size);
    before = size;
    return size;
  });
}

function validSeeds(place: Place, value: unknown): readonly number[] {
  const seeds = validList(place, value, 'whole numbers', MAX_SEEDS).map((seed, i) =>
    validWhole(place.index(i), seed, 0, LARGEST_SEED),
  );
  const again = seeds.findIndex((seed, i) => seeds.indexOf(seed) < i);
  if (again >= 0) throw place.index(again).expected('a seed that is not in the list yet', seeds[again]);
  return seeds;
}

/** All policies by default. */
function contendersOf(
  place: Place,
  value: unknown,
  known: ReadonlyMap<string, Contender>,
): readonly Contender[] {
  if (value === undefined) return [...known.values()];
  const chosen = new Set<Contender>();
  validList(place, value, 'names of policies', known.size).forEach((item, i) => {
    const here = place.index(i);
    const name = validString(here, item);
    const contender = known.get(name);
    if (contender === undefined) throw here.unknown('policy', name, [...known.keys()]);
    if (chosen.has(contender)) throw here.expected('a policy that is not in the list yet', name);
    chosen.add(contender);
  });
  return [...chosen];
}

/** Traits are either recorded in the trace or drawn, not both. */
function traitsOf(place: Place, { trace }: FileArrivals, { traits }: TraitMixes, { maxBatchSize }: Curve) {
  if (trace?.traits === undefined) return traits === undefined ? {} : { traits };
  if (traits !== undefined) {
    throw place.error(`expected no ${TRAIT_KEYS.join(', ')} beside a trace that has such columns.`);
  }
  const tooCostly = trace.traits.findIndex(({ cost = 1 }) => cost > maxBatchSize);
  if (tooCostly >= 0) {
    const what = `expected costs of at most max_batch_size (${maxBatchSize})`;
    const { cost } = trace.traits[tooCostly] ?? {};
    throw place
      .key('arrivals')
      .key('file')
      .error(`${what}, got ${cost} for arrival ${tooCostly + 1}.`);
  }
  return { traits: recordedTraits(trace.traits) };
}

/** An object with the key if the value is given. */
function optional<Key extends string, Value>(
  key: Key,
  place: Place,
  value: unknown,
  valid: (place: Place, value: unknown) => Value,
): { readonly [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: valid(place, value) } as { readonly [K in Key]: Value });
}
