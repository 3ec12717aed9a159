/** What is wrong with a run, before anything is opened. */
import { z } from 'zod';
import { LoadError } from '../load-error.js';
import { parseThreshold } from '../report/threshold.js';
import { checkTargetSpec } from '../targets/check-target-spec.js';
import type { TargetSpec } from '../targets/target-spec.js';
import { valid } from '../valid.js';
import type { RunSpec } from './load-run.js';
import type { ShapeStep } from './load-shape.js';
import { waitTimeSchema } from './wait-time.js';

const MOST_USERS = 1_000_000;
const MOST_PER_SECOND = 1_000_000;
const MOST_PROCESSES = 256;

const above0 = z.number('expected a number above 0').gt(0, 'expected a number above 0');
const from0 = z.number('expected a number from 0').min(0, 'expected a number from 0');
const rate = z
  .number(`expected a rate per second above 0, at most ${MOST_PER_SECOND}`)
  .gt(0, 'expected a rate per second above 0')
  .max(MOST_PER_SECOND, `expected a rate per second of at most ${MOST_PER_SECOND}`);
const rateFrom0 = z
  .number(`expected a rate per second from 0 to ${MOST_PER_SECOND}`)
  .min(0, 'expected a rate per second from 0')
  .max(MOST_PER_SECOND, `expected a rate per second of at most ${MOST_PER_SECOND}`);

function whole(least: number, most: number) {
  const message = `expected a whole number from ${least} to ${most}`;
  return z.int(message).min(least, message).max(most, message);
}

const usersSchema = whole(0, MOST_USERS);

const scheduleSchema = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('constant'), perSecond: rate }),
    z.strictObject({ kind: z.literal('poisson'), perSecond: rate }),
    z.strictObject({
      kind: z.literal('gamma'),
      perSecond: rate,
      variation: z
        .number('expected a coefficient of variation from 0.01 to 100')
        .min(0.01, 'expected a coefficient of variation from 0.01')
        .max(100, 'expected a coefficient of variation of at most 100'),
    }),
    z.strictObject({
      kind: z.literal('steps'),
      steps: z
        .array(z.strictObject({ perSecond: rateFrom0, seconds: above0 }))
        .min(1, 'expected at least one step'),
    }),
    z.strictObject({ kind: z.literal('ramp'), from: rateFrom0, to: rateFrom0, seconds: above0 }),
    z.strictObject({
      kind: z.literal('trace'),
      name: z.string(),
      timesMs: z.custom<readonly number[]>(isTrace, 'expected at least one time in milliseconds, ascending'),
    }),
  ],
  'expected constant, poisson, gamma, steps, ramp or trace',
);

const trafficSchema = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.literal('users'),
      users: usersSchema,
      spawnRate: rate,
      waitTime: waitTimeSchema,
    }),
    z.strictObject({
      kind: z.literal('arrivals'),
      schedule: scheduleSchema,
      maxInFlight: whole(1, MOST_USERS),
    }),
  ],
  'expected users or arrivals',
);

const workSchema = z.discriminatedUnion(
  'kind',
  [
    // Checked by the target itself.
    z.strictObject({
      kind: z.literal('target'),
      target: z.custom<TargetSpec>(isObject, 'expected a target'),
    }),
    z.strictObject({
      kind: z.literal('scenario'),
      file: z.string('expected the path of a scenario file').min(1, 'expected the path of a scenario file'),
      host: z.string('expected a URL').optional(),
      tags: z.array(z.string('expected a tag')).min(1, 'expected at least one tag').optional(),
    }),
  ],
  'expected target or scenario',
);

const runSchema = z.strictObject({
  work: workSchema,
  traffic: trafficSchema,
  seconds: above0.optional(),
  targetLatencyMs: above0.optional(),
  failIf: z.array(z.string()).optional(),
  processes: whole(1, MOST_PROCESSES).optional(),
  seed: whole(0, 2 ** 32 - 1).optional(),
  stopSeconds: from0.optional(),
  keepArrivals: z.boolean('expected true or false').optional(),
});

/** @throws {LoadError} INVALID_OPTION */
export function checkRunSpec(spec: RunSpec): void {
  valid(runSchema, spec);
  const { work, traffic, processes = 1, failIf = [] } = spec;
  for (const rule of failIf) parseThreshold(rule);
  if (work.kind === 'target') checkTargetSpec(work.target);
  if (traffic.kind === 'arrivals' && traffic.maxInFlight < processes) {
    throw invalid(
      `traffic.maxInFlight: expected at least one per process (${processes}), got ${traffic.maxInFlight}.`,
    );
  }
}

const shapeStepSchema = z.strictObject(
  { users: usersSchema, spawnRate: rate },
  'expected { users, spawnRate }, or null at the end',
);

/** @throws {LoadError} INVALID_OPTION */
export function checkShapeStep(step: ShapeStep): void {
  valid(shapeStepSchema, step);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** By hand: a trace may have millions of times. */
function isTrace(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  let before = 0;
  for (const time of value) {
    if (typeof time !== 'number' || !(time >= before) || time === Number.POSITIVE_INFINITY) return false;
    before = time;
  }
  return true;
}

function invalid(message: string): LoadError {
  return new LoadError('INVALID_OPTION', message);
}
