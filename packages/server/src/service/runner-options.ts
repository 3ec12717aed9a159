/** What a service module can set for a runner: the words of the YAML file in camel case, as many as are needed. */
import {
  type BatchingSettings,
  type RedisSettings,
  type ResourceSettings,
  type RunnerSettings,
  shownValue,
  type UpstreamSettings,
} from '@batchwise/runners';
import { BatchwiseError, didYouMean } from 'batchwise';
import * as z from 'zod';
import { issueText } from './schema-issues.js';

/** Settings of a runner in the code of a service. The configuration overrides them. */
export interface RunnerOptions {
  /**
   * Whether requests may share a batch. If false, each request is a batch of its own.
   * @default false, for Python models true
   */
  readonly batchable?: boolean | undefined;
  /**
   * Dimension along which requests are concatenated: one, or `[input, output]`.
   * @default 0
   */
  readonly batchDim?: number | readonly [input: number, output: number] | undefined;
  readonly batching?: Optional<BatchingSettings> | undefined;
  /**
   * Number of slots: batches that may run at the same time.
   * @default 1
   */
  readonly concurrency?: number | undefined;
  /**
   * For models: a batch that fails is bisected until only the faulty requests fail. If false, all requests of the batch
   * fail.
   * @default true
   */
  readonly isolate?: boolean | undefined;
  /**
   * Number of copies of the model, each in its own process.
   * @default 1
   */
  readonly replicas?: number | undefined;
  /** Of a Python model: an interpreter, or the folder of a virtual environment. */
  readonly python?: string | undefined;
  readonly resources?: Optional<ResourceSettings> | undefined;
  /** With a `queue`, requests go to Redis, and `batchwise worker` processes run the batches. */
  readonly redis?: Optional<RedisSettings> | undefined;
  /** With a `url`, batches run on an upstream; `upstream()` sets it. */
  readonly upstream?: Optional<UpstreamSettings> | undefined;
  /**
   * Deadline of a request without one of its own, and maximum duration of a batch.
   * @default 30,000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Number of warm-up rounds with generated requests before the runner is ready.
   * @default 3
   */
  readonly warmup?: number | undefined;
}

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

/** The same, validated; options that are not set are absent. */
export type DeclaredSettings = {
  readonly [Key in Exclude<
    keyof RunnerSettings,
    'batching' | 'resources' | 'redis' | 'upstream'
  >]?: RunnerSettings[Key];
} & {
  readonly batching?: Partial<BatchingSettings>;
  readonly resources?: Partial<ResourceSettings>;
  readonly redis?: Partial<RedisSettings>;
  readonly upstream?: Partial<UpstreamSettings>;
};

const count = z.int().min(1);
const milliseconds = z.number().positive();
const dimension = z.int().min(0);

/**
 * An object of these keys and no others; of another it is said which was probably meant. `taken` are keys
 * that somebody else has taken out and checked.
 */
function ofKeys<Shape extends z.core.$ZodShape>(shape: Shape, taken: readonly string[] = []) {
  const known = [...new Set([...Object.keys(shape), ...taken])];
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined;
      const unknown = (issue.keys as string[]).map(
        (key) => `unknown key ${shownValue(key)}.${didYouMean(key, known)}`,
      );
      return `${unknown.join(' ')} Known are ${known.join(', ')}.`;
    },
  });
}

const batching = ofKeys({
  enabled: z.boolean().optional(),
  maxBatchSize: count.optional(),
  targetLatencyMs: milliseconds.optional(),
  maxWaitMs: z.number().min(0).optional(),
  maxQueueSize: count.optional(),
  policy: z.enum(['adaptive', 'greedy', 'window']).optional(),
  prefer: z.enum(['latency', 'efficiency']).optional(),
  batchSizes: z
    .array(count)
    .refine((sizes) => sizes.every((size, i) => i === 0 || size > (sizes[i - 1] ?? 0)), {
      error: 'expected ascending numbers',
    })
    .optional(),
});

const resources = ofKeys({
  cpu: count.optional(),
  gpu: z.array(z.int().min(0)).optional(),
});

const redis = ofKeys({
  queue: z.string().optional(),
  url: z.string().optional(),
  maxBacklog: count.optional(),
  payload: z.enum(['json', 'msgpack']).optional(),
});

const upstream = ofKeys({
  url: z.array(z.string()).min(1).optional(),
  model: z.string().optional(),
  version: z.string().optional(),
  format: z.enum(['binary', 'json']).optional(),
  connections: count.optional(),
  startTimeoutMs: milliseconds.optional(),
  retries: z.int().min(0).max(10).optional(),
  maxFailures: count.optional(),
  cooldownMs: milliseconds.optional(),
  healthIntervalMs: milliseconds.optional(),
  caFile: z.string().optional(),
  certFile: z.string().optional(),
  keyFile: z.string().optional(),
  serverName: z.string().optional(),
});

const options = {
  batchable: z.boolean().optional(),
  batchDim: z
    .union([dimension.transform((both) => [both, both] as const), z.tuple([dimension, dimension])])
    .optional(),
  batching: batching.optional(),
  concurrency: count.optional(),
  isolate: z.boolean().optional(),
  replicas: count.optional(),
  python: z.string().min(1).optional(),
  resources: resources.optional(),
  redis: redis.optional(),
  upstream: upstream.optional(),
  timeoutMs: milliseconds.optional(),
  warmup: z.int().min(0).optional(),
};

export function validRunnerOptions(
  where: string,
  given: RunnerOptions,
  taken: readonly string[] = [],
): DeclaredSettings {
  const checked = z.safeParse(ofKeys(options, taken), given, { reportInput: true });
  if (!checked.success) {
    throw new BatchwiseError('INVALID_OPTION', issueText(where, checked.error.issues));
  }
  return withoutUndefined(checked.data) as DeclaredSettings;
}

function withoutUndefined(object: object): object {
  const entries = Object.entries(object)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, isPlain(value) ? withoutUndefined(value) : value]);
  return Object.freeze(Object.fromEntries(entries));
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
