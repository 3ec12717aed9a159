/** The flags of requests and traffic, shared by `load`, `load knee` and `load compare`. */

import { parseTrace } from '@batchwise/arena';
import {
  type ArrivalSchedule,
  LoadError,
  type RunSpec,
  readSamples,
  type TargetSpec,
  type Traffic,
  type WaitTime,
} from '@batchwise/load';
import { type Command, Option } from 'commander';
import { Failure, UsageFailure } from '../terminal/failure.js';
import { readNamedFile } from '../terminal/files.js';
import { positiveNumber, wholeNumber } from '../terminal/flag-values.js';
import { duration, header, jsonMember, ramp, severalTexts, steps, waitTime } from './load-values.js';

const MOST_USERS = 1_000_000;
const MAX_PER_SECOND = 1_000_000;
const MOST_IN_FLIGHT = 1_000_000;
export const MOST_PROCESSES = 256;
export const TARGET_FLAG = '--target-ms, --target-latency-ms <ms>';

export interface RequestFlags {
  readonly data?: string;
  readonly method?: string;
  readonly header?: Readonly<Record<string, string>>;
  readonly protocol?: NonNullable<TargetSpec['protocol']>;
  readonly proto?: string;
  readonly timeout?: number;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly okStatus?: readonly string[];
  readonly okBody?: string;
  readonly okJson?: { readonly path: string; readonly value?: unknown };
}

export function addRequestFlags(command: Command): Command {
  return command
    .optionsGroup('Request:')
    .option(
      '-d, --data <json>',
      'request body: JSON, or @file (.json, .jsonl, others as bytes); the items of a list are sent in turn (default: none)',
    )
    .option('-X, --method <name>', 'HTTP method (default: POST with data, else GET)')
    .option("-H, --header <'name: value'>", 'HTTP header or gRPC metadata; may be repeated', header)
    .addOption(
      // Without a default value, which would be a flag that gRPC and Redis reject.
      new Option('--protocol <name>', 'encoding of an HTTP request (default: http)').choices([
        'http',
        'open-inference',
        'open-inference-binary',
      ]),
    )
    .option('--proto <file>', 'message types of a gRPC method (default: server reflection)')
    .option('--ca <file>', 'certificate authority of the target (PEM)')
    .option('--insecure', 'accept any certificate')
    .optionsGroup('Failures:')
    .option('--timeout <time>', 'a response that takes longer fails (default: no limit)', duration)
    .option(
      '--ok-status <codes>',
      'HTTP status of a success, such as 200, 2xx, 200-404; may be repeated (default: 2xx)',
      severalTexts,
    )
    .option('--ok-body <text>', 'text that a successful body contains, or /regular expression/')
    .option(
      '--ok-json <path>',
      'member that a successful JSON body has, such as label or label="setosa"',
      jsonMember,
    );
}

export async function targetSpec(url: string, flags: RequestFlags): Promise<TargetSpec> {
  const { method, protocol, proto, timeout, ca, insecure, okStatus, okBody, okJson } = flags;
  const success = {
    ...(okStatus !== undefined && { status: okStatus }),
    ...(okBody !== undefined && { body: okBody }),
    ...(okJson !== undefined && { json: okJson }),
  };
  return {
    url,
    ...(protocol !== undefined && { protocol }),
    ...(method !== undefined && { method: method.toUpperCase() }),
    ...(flags.header !== undefined && { headers: flags.header }),
    ...(flags.data !== undefined && { data: samples(flags.data) }),
    ...(proto !== undefined && { proto }),
    ...(timeout !== undefined && { timeoutMs: 1000 * timeout }),
    ...((ca !== undefined || insecure) && {
      tls: {
        ...(ca !== undefined && { ca: await readNamedFile('--ca', ca) }),
        ...(insecure && { insecure }),
      },
    }),
    ...(Object.keys(success).length > 0 && { success }),
  };
}

function samples(data: string): NonNullable<TargetSpec['data']> {
  try {
    return readSamples(data);
  } catch (error) {
    if (error instanceof LoadError)
      throw new Failure(`--data: ${error.message.replace(/^data: /, '')}`, { cause: error });
    throw error;
  }
}

export interface TrafficFlags {
  readonly users?: number;
  readonly spawnRate?: number;
  readonly wait?: WaitTime;
  readonly rate?: number;
  readonly arrivals?: 'poisson' | 'constant' | 'gamma';
  readonly variation?: number;
  readonly steps?: ArrivalSchedule;
  readonly ramp?: ArrivalSchedule;
  readonly replay?: string;
  readonly maxInFlight: number;
  readonly time?: number;
  readonly seed: number;
}

export function addUserFlags(command: Command): Command {
  return command
    .optionsGroup('Users, which send one request after the other:')
    .option('-u, --users <count>', 'number of users (default: 10)', wholeNumber(1, MOST_USERS))
    .option(
      '-r, --spawn-rate <number>',
      'users started per second (default: all at once)',
      positiveNumber(MOST_USERS),
    )
    .option(
      '-w, --wait <time>',
      'pause of a user in seconds: between(0.01,2), constant(1), pacing(5) (default: none)',
      waitTime,
    );
}

export function addArrivalFlags(command: Command): Command {
  return command
    .optionsGroup('Arrivals, which do not wait for responses:')
    .option('--rate <number>', 'requests per second', positiveNumber(MAX_PER_SECOND))
    .addOption(
      new Option('--arrivals <kind>', 'distribution at --rate (default: poisson)').choices([
        'poisson',
        'constant',
        'gamma',
      ]),
    )
    .option(
      '--variation <number>',
      'coefficient of variation of gamma arrivals; above 1 means bursts (default: 3)',
      positiveNumber(100),
    )
    .option(
      '--ramp <from..to>',
      'Poisson arrivals at a rate that changes linearly, such as 100..900in60s',
      ramp,
    )
    .option('--steps <list>', 'Poisson arrivals at one rate after the other, such as 100x30s,400x30s', steps)
    .option('--replay <file>', 'arrival times of a trace: milliseconds, one per line')
    .option(
      '--max-in-flight <count>',
      'maximum number of requests in flight; arrivals above it are counted as not sent',
      wholeNumber(1, MOST_IN_FLIGHT),
      10_000,
    );
}

export function addRunFlags(command: Command): Command {
  return command
    .optionsGroup('Run:')
    .option(
      '-t, --time <time>',
      'duration, such as 60s, 5m (default: until Ctrl-C, or the end of the ramp, steps or trace)',
      duration,
    )
    .option(
      '--seed <number>',
      'seed of arrivals, pauses and choices',
      wholeNumber(0, Number.MAX_SAFE_INTEGER),
      1,
    );
}

const ARRIVAL_FLAGS = ['rate', 'ramp', 'steps', 'replay'] as const;

/** @throws {UsageFailure} when flags contradict each other */
export async function trafficOf(flags: TrafficFlags): Promise<Traffic> {
  const given = ARRIVAL_FLAGS.filter((name) => flags[name] !== undefined).map((name) => `--${name}`);
  if (given.length > 1) throw new UsageFailure(`${given.join(' and ')} cannot be used together.`);
  if (given[0] === undefined) {
    if (flags.arrivals !== undefined) throw new UsageFailure('--arrivals needs --rate.');
    if (flags.variation !== undefined)
      throw new UsageFailure('--variation needs --rate and --arrivals gamma.');
    const users = flags.users ?? 10;
    return {
      kind: 'users',
      users,
      spawnRate: flags.spawnRate ?? users,
      waitTime: flags.wait ?? { kind: 'constant', seconds: 0 },
    };
  }
  for (const name of ['users', 'spawnRate', 'wait'] as const) {
    if (flags[name] === undefined) continue;
    const flag = name === 'spawnRate' ? 'spawn-rate' : name;
    throw new UsageFailure(`--${flag} belongs to users and ${given[0]} to arrivals: use one or the other.`);
  }
  return { kind: 'arrivals', schedule: await scheduleOf(flags), maxInFlight: flags.maxInFlight };
}

async function scheduleOf(flags: TrafficFlags): Promise<ArrivalSchedule> {
  const { rate, arrivals = 'poisson', variation, replay } = flags;
  if (replay !== undefined) {
    const { timesMs } = parseTrace(await readNamedFile('--replay', replay), replay);
    return { kind: 'trace', name: replay, timesMs };
  }
  const other = flags.ramp ?? flags.steps;
  if (other !== undefined || rate === undefined) return other as ArrivalSchedule;
  if (variation !== undefined && arrivals !== 'gamma')
    throw new UsageFailure('--variation needs --arrivals gamma.');
  return arrivals === 'gamma'
    ? { kind: 'gamma', perSecond: rate, variation: variation ?? 3 }
    : { kind: arrivals, perSecond: rate };
}

export type RunPart = Pick<RunSpec, 'traffic' | 'seconds' | 'seed'>;

export async function runPart(flags: TrafficFlags): Promise<RunPart> {
  const traffic = await trafficOf(flags);
  const seconds = flags.time ?? scheduledSeconds(traffic);
  return {
    traffic,
    ...(seconds !== undefined && { seconds }),
    seed: flags.seed,
  };
}

/** A ramp and steps end the run. A longer `--time` continues at the last rate. */
function scheduledSeconds(traffic: Traffic): number | undefined {
  if (traffic.kind !== 'arrivals') return undefined;
  const { schedule } = traffic;
  if (schedule.kind === 'ramp') return schedule.seconds;
  if (schedule.kind === 'steps') return schedule.steps.reduce((sum, { seconds }) => sum + seconds, 0);
  return undefined;
}
