/** What the start form and the form for users send, checked, and made into a run. */
import { z } from 'zod';
import { LoadError } from '../load-error.js';
import type { RunSpec } from '../run/load-run.js';
import type { ArrivalSchedule, Traffic } from '../run/traffic.js';
import { waitTimeSchema } from '../run/wait-time.js';
import { valid } from '../valid.js';

const DEFAULT_MAX_IN_FLIGHT = 10_000;

const number = z.number('expected a number');

const arrivals = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('constant'), per_second: number }),
    z.strictObject({ kind: z.literal('poisson'), per_second: number }),
    z.strictObject({ kind: z.literal('gamma'), per_second: number, variation: number }),
    z.strictObject({
      kind: z.literal('steps'),
      steps: z.array(z.strictObject({ per_second: number, seconds: number })),
    }),
    z.strictObject({ kind: z.literal('ramp'), from: number, to: number, seconds: number }),
    // That of the command line, again.
    z.strictObject({ kind: z.literal('trace') }),
  ],
  'expected constant, poisson, gamma, steps, ramp or trace',
);

/** The shape only: the ranges of all values are checked where a run is started. */
const startBody = z.strictObject({
  /** Of a scenario: the host that its paths are relative to. */
  url: z.string('expected a URL').optional(),
  users: number.optional(),
  spawn_rate: number.optional(),
  wait_time: waitTimeSchema.optional(),
  arrivals: arrivals.optional(),
  max_in_flight: number.optional(),
  seconds: number.optional(),
  target_latency_ms: number.optional(),
});

const usersBody = z.strictObject({ users: number, spawn_rate: number });

type StartBody = z.infer<typeof startBody>;

/**
 * The run that the form asks for. Everything that the form does not ask comes from the command line: data, headers,
 * thresholds, processes.
 *
 * @throws {LoadError} INVALID_OPTION
 */
export function runSpecOf(body: unknown, initial: RunSpec): RunSpec {
  const asked = valid(startBody, body);
  const { seconds: _, targetLatencyMs: __, ...kept } = initial;
  return {
    ...kept,
    work: workOf(asked, initial),
    traffic: trafficOf(asked, initial),
    ...(asked.seconds !== undefined && { seconds: asked.seconds }),
    ...(asked.target_latency_ms !== undefined && { targetLatencyMs: asked.target_latency_ms }),
  };
}

/**
 * The shape only: the run checks the values.
 *
 * @throws {LoadError} INVALID_OPTION
 */
export function usersOf(body: unknown): { readonly users: number; readonly spawnRate: number } {
  const { users, spawn_rate: spawnRate } = valid(usersBody, body);
  return { users, spawnRate };
}

function workOf({ url }: StartBody, { work }: RunSpec): RunSpec['work'] {
  if (work.kind === 'scenario') {
    const { host: _, ...kept } = work;
    return url === undefined ? kept : { ...kept, host: url };
  }
  return url === undefined ? work : { ...work, target: { ...work.target, url } };
}

function trafficOf(asked: StartBody, initial: RunSpec): Traffic {
  const { users, spawn_rate: spawnRate, wait_time: waitTime, arrivals } = asked;
  if ((users === undefined) === (arrivals === undefined)) {
    throw invalid('expected either users, for a closed model, or arrivals, for an open model');
  }
  if (arrivals !== undefined) {
    if (spawnRate !== undefined || waitTime !== undefined) {
      throw invalid('arrivals: expected no spawn_rate and no wait_time, which belong to users');
    }
    const known = initial.traffic.kind === 'arrivals' ? initial.traffic.maxInFlight : DEFAULT_MAX_IN_FLIGHT;
    return {
      kind: 'arrivals',
      schedule: scheduleOf(arrivals, initial.traffic),
      maxInFlight: asked.max_in_flight ?? known,
    };
  }
  if (asked.max_in_flight !== undefined) {
    throw invalid('max_in_flight: expected none with users, because each user has one request in flight');
  }
  const known = initial.traffic.kind === 'users' ? initial.traffic.waitTime : undefined;
  return {
    kind: 'users',
    users: users as number,
    spawnRate: spawnRate ?? (users as number),
    waitTime: waitTime ?? known ?? { kind: 'constant', seconds: 0 },
  };
}

function scheduleOf(asked: NonNullable<StartBody['arrivals']>, initial: Traffic): ArrivalSchedule {
  switch (asked.kind) {
    case 'constant':
    case 'poisson':
      return { kind: asked.kind, perSecond: asked.per_second };
    case 'gamma':
      return { kind: 'gamma', perSecond: asked.per_second, variation: asked.variation };
    case 'steps':
      return {
        kind: 'steps',
        steps: asked.steps.map((step) => ({ perSecond: step.per_second, seconds: step.seconds })),
      };
    case 'ramp':
      return asked;
    case 'trace':
      if (initial.kind === 'arrivals' && initial.schedule.kind === 'trace') return initial.schedule;
      throw invalid('arrivals: expected a trace on the command line, got none');
  }
}

function invalid(message: string): LoadError {
  return new LoadError('INVALID_OPTION', `${message}.`);
}
