/** Settings of a worker from flags and environment. The handler's module sets the others. */
import type { PayloadKind, RedisProcessorOptions } from '@batchwise/redis';
import type { RunnerSettings } from '@batchwise/runners';
import { adaptive, greedy, type Policy, window } from 'batchwise';
import type { QueueFlags } from '../queue/queue-flags.js';
import { Failure, UsageFailure } from '../terminal/failure.js';
import type { Terminal } from '../terminal/terminal.js';

export interface WorkerFlags extends QueueFlags {
  readonly maxBatchSize?: number;
  /** In seconds. */
  readonly batchTime?: number;
  readonly maxWaitMs?: number;
  readonly targetLatencyMs?: number;
  readonly concurrency?: number;
  readonly handlerTimeoutMs?: number;
  readonly leaseMs?: number;
  readonly maxDeliveries?: number;
  readonly payload?: PayloadKind;
  readonly policy?: 'adaptive' | 'greedy' | 'window';
  readonly isolate?: boolean;
  readonly python?: string;
  readonly replicas?: number;
  readonly gpu?: readonly number[];
  readonly verbose?: boolean;
  readonly quiet?: boolean;
}

/** How batches are formed. The log has the length of a window. */
export type BatchRule =
  | { readonly kind: 'window'; readonly seconds: number }
  | { readonly kind: 'adaptive'; readonly prefer?: 'latency' | 'efficiency' | undefined }
  | { readonly kind: 'greedy' }
  /** The policy object of a module. */
  | { readonly kind: 'own'; readonly policy: Policy };

/** The settings of a processor without the address of its queue. */
export type WorkerOptions = Omit<
  RedisProcessorOptions<unknown>,
  'url' | 'username' | 'password' | 'database' | 'tls' | 'queue' | 'clock' | 'policy'
>;

export interface WorkerSettings {
  /** Only the given options. */
  readonly options: WorkerOptions;
  readonly rule: BatchRule | undefined;
  readonly processes: ProcessSettings;
}

/** The given settings of the processes of a Python model. */
export type ProcessSettings = Partial<Pick<RunnerSettings, 'python' | 'replicas' | 'resources'>>;

const OPTION_FLAGS = [
  'maxBatchSize',
  'maxWaitMs',
  'targetLatencyMs',
  'concurrency',
  'handlerTimeoutMs',
  'leaseMs',
  'maxDeliveries',
  'payload',
  'isolate',
] as const satisfies readonly (keyof WorkerFlags & keyof WorkerOptions)[];

export const LARGEST_BATCH = 65_536;
export const LONGEST_SECONDS = 86_400;
/** The default window, as in dynamic_batcher. */
const DEFAULT_SECONDS = 2;

/** Throws the message for the user if a flag or a variable is invalid. */
export function workerSettings(flags: WorkerFlags, env: Terminal['env']): WorkerSettings {
  const given = Object.fromEntries(
    OPTION_FLAGS.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]),
  );
  const batchSize = numberIn(env, 'DYNAMIC_BATCHER__BATCH_SIZE', 1, LARGEST_BATCH, true);
  const seconds = numberIn(env, 'DYNAMIC_BATCHER__BATCH_TIME', 0, LONGEST_SECONDS, false);
  return {
    options: { ...(batchSize === undefined ? {} : { maxBatchSize: batchSize }), ...given },
    rule: ruleOf(flags, seconds),
    processes: processesOf(flags, env),
  };
}

/** `serve` reads the same variable. */
function processesOf({ python, replicas, gpu }: WorkerFlags, env: Terminal['env']): ProcessSettings {
  const interpreter = python ?? (env.BATCHWISE__RUNNERS__PYTHON || undefined);
  return {
    ...(interpreter !== undefined && { python: interpreter }),
    ...(replicas !== undefined && { replicas }),
    ...(gpu !== undefined && { resources: { cpu: undefined, gpu } }),
  };
}

/** Throws for a flag that would have no effect. */
export function checkProcessFlags({ python, replicas, gpu }: WorkerFlags, what: string): void {
  const given = Object.entries({ python, replicas, gpu }).find(([, value]) => value !== undefined);
  if (given === undefined) return;
  throw new UsageFailure(`--${given[0]} is for a Python model (model.py). ${what} is not one.`);
}

function ruleOf({ policy, batchTime, maxWaitMs }: WorkerFlags, seconds?: number): BatchRule | undefined {
  if (policy === 'adaptive' || policy === 'greedy') {
    if (batchTime === undefined) return { kind: policy };
    throw new UsageFailure(`--batch-time is for --policy window, not for --policy ${policy}.`);
  }
  const batchSeconds = batchTime ?? seconds;
  if (batchSeconds !== undefined) return { kind: 'window', seconds: batchSeconds };
  if (policy === undefined) return undefined;
  return { kind: 'window', seconds: maxWaitMs === undefined ? DEFAULT_SECONDS : maxWaitMs / 1000 };
}

/** An empty variable counts as not set. */
function numberIn(
  env: Terminal['env'],
  name: string,
  least: number,
  most: number,
  isWhole: boolean,
): number | undefined {
  const text = env[name];
  if (text === undefined || text === '') return undefined;
  const value = /^(?:\d+\.?\d*|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) return value;
  const what = isWhole ? 'a whole number' : 'a number of seconds';
  const range = `from ${least} to ${most.toLocaleString('en')}`;
  throw new Failure(`${name}: expected ${what} ${range}, got ${JSON.stringify(text.slice(0, 40))}.`);
}

export function policyOf(rule: BatchRule): Policy {
  switch (rule.kind) {
    case 'window':
      return window({ maxWaitMs: 1000 * rule.seconds });
    case 'greedy':
      return greedy();
    case 'adaptive':
      return adaptive(rule.prefer === undefined ? {} : { prefer: rule.prefer });
    case 'own':
      return rule.policy;
  }
}
