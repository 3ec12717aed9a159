/**
 * Trace files: recorded arrivals as CSV, one per line, with the time in milliseconds and optionally cost, group,
 * priority and tenant. A header may name the columns in another order. Empty lines and lines that begin with # are
 * ignored.
 */

import type { Traits } from '../simulation/scenario.js';
import { Place, quoted } from './place.js';
import { MAX_MS } from './valid.js';

export interface Trace {
  readonly timesMs: readonly number[];
  /** Undefined when the file has times only. */
  readonly traits: readonly Traits[] | undefined;
}

/** Bounds the memory of a run. */
export const MAX_ARRIVALS = 5_000_000;
const MAX_COST = 1e9;
export const MAX_PRIORITY = 100;

const COLUMNS = ['time_ms', 'cost', 'group', 'priority', 'tenant'] as const;
type Column = (typeof COLUMNS)[number];

/** @throws {ArenaError} INVALID_TRACE */
export function parseTrace(text: string, name: string): Trace {
  return traceAt(new Place('INVALID_TRACE', name), text);
}

export function traceAt(place: Place, text: string): Trace {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  const timesMs: number[] = [];
  const traits: Traits[] = [];
  let columns: readonly Column[] | undefined;
  lines.forEach((line, i) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    const here = place.position(i + 1);
    const fields = fieldsOf(here, line);
    if (columns === undefined) {
      columns = headerOf(here, fields);
      if (columns !== undefined) return;
      columns = COLUMNS.slice(0, Math.max(fields.length, 1));
    }
    if (fields.length > columns.length) {
      throw here.error(`expected ${columns.length} columns (${columns.join(', ')}), got ${fields.length}.`);
    }
    const time = timeOf(here, fields[columns.indexOf('time_ms')] ?? '');
    const before = timesMs.at(-1) ?? 0;
    if (time < before) throw here.expected(`not less than the time before (${before})`, time);
    if (timesMs.length === MAX_ARRIVALS) throw here.error(`expected at most ${MAX_ARRIVALS} arrivals.`);
    timesMs.push(time);
    if (columns.length > 1) traits.push(traitsOf(here, columns, fields));
  });
  if (timesMs.length === 0) throw place.error('expected at least one arrival time, got an empty file.');
  return { timesMs, traits: traits.length === 0 ? undefined : traits };
}

/** The columns of a header; undefined when the line is an arrival. */
function headerOf(place: Place, fields: readonly string[]): Column[] | undefined {
  if (!fields.some((field) => (COLUMNS as readonly string[]).includes(field.toLowerCase()))) {
    // A mistyped time is reported as such, not as a header.
    if (fields.length > COLUMNS.length || /^[-+.\d]|^(?:nan|inf(?:inity)?|null)?$/i.test(fields[0] ?? '')) {
      return undefined;
    }
  }
  const columns = fields.map((field) => {
    const column = COLUMNS.find((known) => known === field.toLowerCase());
    if (column === undefined) throw place.unknown('column', field, COLUMNS);
    return column;
  });
  if (!columns.includes('time_ms')) throw place.error('expected a column time_ms.');
  if (new Set(columns).size < columns.length) throw place.error('expected every column once.');
  return columns;
}

function traitsOf(place: Place, columns: readonly Column[], fields: readonly string[]): Traits {
  const traits: { cost?: number; group?: string; priority?: number; tenant?: string } = {};
  columns.forEach((column, i) => {
    const field = fields[i] ?? '';
    if (field === '') return; // as if the column did not exist
    if (column === 'cost') traits.cost = costOf(place, field);
    else if (column === 'priority') traits.priority = priorityOf(place, field);
    else if (column !== 'time_ms') traits[column] = field;
  });
  return traits;
}

function timeOf(place: Place, field: string): number {
  const time = numberOf(field);
  if (time >= 0 && time <= MAX_MS) return time;
  throw place.error(`time_ms: expected milliseconds from 0 to ${MAX_MS}, got ${quoted(field)}.`);
}

function costOf(place: Place, field: string): number {
  const cost = numberOf(field);
  if (cost > 0 && cost <= MAX_COST) return cost;
  throw place.error(`cost: expected a number above 0, at most ${MAX_COST}, got ${quoted(field)}.`);
}

function priorityOf(place: Place, field: string): number {
  const priority = numberOf(field);
  if (Number.isInteger(priority) && Math.abs(priority) <= MAX_PRIORITY) return priority;
  const range = `-${MAX_PRIORITY} to ${MAX_PRIORITY}`;
  throw place.error(`priority: expected a whole number from ${range}, got ${quoted(field)}.`);
}

/** NaN for anything but a decimal number. */
function numberOf(field: string): number {
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/i.test(field) ? Number(field) : Number.NaN;
}

const FIELD = /\s*"((?:[^"]|"")*)"\s*(?:,|$)|([^",]*)(?:,|$)/y;

function fieldsOf(place: Place, line: string): string[] {
  const fields: string[] = [];
  FIELD.lastIndex = 0;
  for (;;) {
    const at = FIELD.lastIndex;
    const match = FIELD.exec(line);
    if (match === null)
      throw place.error(`expected a comma or the end of the line after ${quoted(line.slice(at))}.`);
    fields.push(match[1]?.replaceAll('""', '"') ?? (match[2] ?? '').trim());
    if (FIELD.lastIndex === line.length && !match[0].endsWith(',')) return fields;
    if (FIELD.lastIndex === line.length) return [...fields, ''];
  }
}
