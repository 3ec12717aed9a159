/** The arrivals of a scenario file. */
import {
  type Arrivals,
  closedLoop,
  fanOut,
  lognormalGaps,
  mmpp,
  onOff,
  phases,
  poisson,
  recorded,
} from '../simulation/arrivals.js';
import type { Place } from './place.js';
import { MAX_ARRIVALS, type Trace, traceAt } from './trace-file.js';
import {
  type Fields,
  MAX_MS,
  validFields,
  validKeys,
  validList,
  validMs,
  validNumber,
  validOneOf,
  validString,
  validWhole,
} from './valid.js';

export interface FileArrivals {
  readonly arrivals: Arrivals;
  /** The recording, if the arrivals are recorded. */
  readonly trace?: Trace;
}

interface ArrivalsContext {
  /** Maximum throughput of the backend, in items per millisecond. */
  readonly capacityPerMs: number;
  /** Returns the text of a file; its name is relative to the scenario file. */
  readFile(name: string): string;
}

/** Limits of items per second, and of the load as a share of the maximum throughput. */
const RATES = [0.001, 1e9] as const;
const LOADS = [1e-6, 1000] as const;
/** Bounds the number of phases per run. */
const SHORTEST_PHASE_MS = 0.1;
const MAX_USERS = 1_000_000;
const MAX_PHASES = 1000;
const THINKING = ['exponential', 'constant'] as const;

/** The keys beside `kind`, and the parser. */
interface Kind {
  readonly keys: readonly string[];
  make(place: Place, fields: Fields, context: ArrivalsContext): FileArrivals;
}

const RATE = ['rate', 'load'];

const KINDS = {
  poisson: {
    keys: RATE,
    make: (place, fields, context) => ({ arrivals: poisson(ratePerMs(place, fields, context)) }),
  },
  lognormal: {
    keys: [...RATE, 'sigma'],
    make: (place, fields, context) => {
      const { sigma = 1.5 } = fields;
      const rate = ratePerMs(place, fields, context);
      return { arrivals: lognormalGaps(rate, validNumber(place.key('sigma'), sigma, 0, 5)) };
    },
  },
  mmpp: {
    keys: [...RATE, 'state_ms', 'high'],
    make: (place, fields, context) => {
      const { state_ms, high = 1.6 } = fields;
      const rate = ratePerMs(place, fields, context);
      const stateMs = validPhase(place.key('state_ms'), state_ms);
      return { arrivals: mmpp(rate, stateMs, validNumber(place.key('high'), high, 1, 2)) };
    },
  },
  on_off: {
    keys: [...RATE, 'phase_ms'],
    make: (place, fields, context) => {
      const rate = ratePerMs(place, fields, context);
      return { arrivals: onOff(rate, validPhase(place.key('phase_ms'), fields.phase_ms)) };
    },
  },
  fan_out: {
    keys: [...RATE, 'size', 'within_ms'],
    make: (place, fields, context) => {
      const { size = 16, within_ms = 0.5 } = fields;
      const rate = ratePerMs(place, fields, context);
      const fan = validWhole(place.key('size'), size, 1, 10_000);
      return { arrivals: fanOut(rate, fan, validMs(place.key('within_ms'), within_ms)) };
    },
  },
  phases: {
    keys: ['phases'],
    make: (place, fields, context) => ({ arrivals: phasesOf(place.key('phases'), fields.phases, context) }),
  },
  closed: {
    keys: ['users', 'think_ms', 'thinking'],
    make: (place, fields) => {
      const users = validWhole(place.key('users'), fields.users, 1, MAX_USERS);
      const thinkMs = validMs(place.key('think_ms'), fields.think_ms);
      const thinking = validOneOf(place.key('thinking'), fields.thinking ?? 'exponential', THINKING);
      return { arrivals: closedLoop(users, thinkMs, thinking) };
    },
  },
  times: {
    keys: ['times'],
    make: (place, fields) => {
      const timesMs = validTimes(place.key('times'), fields.times);
      return { arrivals: recorded('times', timesMs), trace: { timesMs, traits: undefined } };
    },
  },
  trace: {
    keys: ['file'],
    make: (place, fields, context) => {
      const here = place.key('file');
      const trace = readTrace(here, validString(here, fields.file), context);
      return { arrivals: recorded('trace', trace.timesMs), trace };
    },
  },
} satisfies Record<string, Kind>;

const KIND_NAMES = Object.keys(KINDS) as (keyof typeof KINDS)[];

export function arrivalsAt(place: Place, value: unknown, context: ArrivalsContext): FileArrivals {
  const kind = validOneOf(place.key('kind'), validFields(place, value).kind, KIND_NAMES);
  const { keys, make }: Kind = KINDS[kind];
  return make(place, validKeys(place, value, ['kind', ...keys]), context);
}

/** Items per millisecond, from `rate` (per second) or `load` (share of the maximum throughput). */
function ratePerMs(place: Place, { rate, load }: Fields, { capacityPerMs }: ArrivalsContext): number {
  if ((rate === undefined) === (load === undefined)) {
    const given = rate === undefined ? 'neither' : 'both';
    throw place.error(
      `expected either rate (items per second) or load (1 is the maximum throughput), got ${given}.`,
    );
  }
  if (rate !== undefined) return validNumber(place.key('rate'), rate, ...RATES) / 1000;
  return validNumber(place.key('load'), load, ...LOADS) * capacityPerMs;
}

function validPhase(place: Place, value: unknown): number {
  return validNumber(place, value, SHORTEST_PHASE_MS, MAX_MS);
}

/** A phase may have rate 0, but not all of them: no item would ever arrive. */
function phasesOf(place: Place, value: unknown, context: ArrivalsContext): Arrivals {
  const parts = validList(place, value, 'phases { "rate" or "load", "ms" }', MAX_PHASES).map((part, i) => {
    const here = place.index(i);
    const fields = validKeys(here, part, [...RATE, 'ms']);
    const isSilent = fields.rate === 0 || fields.load === 0;
    const perMs = isSilent ? 0 : ratePerMs(here, fields, context);
    return { perMs, ms: validPhase(here.key('ms'), fields.ms) };
  });
  if (parts.every(({ perMs }) => perMs === 0))
    throw place.error('expected at least one phase with a rate above 0.');
  return phases('phases', parts);
}

function validTimes(place: Place, value: unknown): readonly number[] {
  const times = validList(place, value, 'times in milliseconds', MAX_ARRIVALS);
  let before = 0;
  times.forEach((time, i) => {
    if (typeof time !== 'number' || !(time >= 0 && time <= MAX_MS)) {
      throw place.index(i).expected(`milliseconds from 0 to ${MAX_MS}`, time);
    }
    if (time < before) throw place.index(i).expected(`not less than the time before (${before})`, time);
    before = time;
  });
  return times as readonly number[];
}

function readTrace(place: Place, file: string, { readFile }: ArrivalsContext): Trace {
  let text: string;
  try {
    text = readFile(file);
  } catch (cause) {
    const { message } = cause as Error;
    throw place.error(`the trace cannot be read: ${message}`, { cause });
  }
  return traceAt(place.within(file), text);
}
