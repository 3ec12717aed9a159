/**
 * Every key of the configuration: its kind, default, description and flag. Validation, defaults, the
 * names of environment variables, the flags and the tables of the reference all come from here. A field of
 * the settings without an entry here does not compile.
 */
import { DEFAULT_RUNNER_SETTINGS, type RunnerSettings } from '@batchwise/runners';
import { DEFAULT_UNANSWERED_BYTES } from '../byte-budget.js';
import { DEFAULT_HTTP_LIMITS } from '../http/http-limits.js';
import { TRUSTABLE_HEADERS } from '../queue-options.js';
import { byteSize } from './kinds/byte-size.js';
import { duration } from './kinds/duration.js';
import { batchDimensions, devices, hostNames, listOf, risingSizes } from './kinds/list-kinds.js';
import { modelList } from './kinds/model-list.js';
import { milliseconds, wholeNumber } from './kinds/number-kinds.js';
import { optional } from './kinds/optional.js';
import { queueName, redisUrl } from './kinds/redis-kinds.js';
import { choice, filePath, pythonInterpreter, text, trueOrFalse } from './kinds/text-kinds.js';
import type { ServerSettings } from './server-settings.js';
import type { Kind } from './setting-kind.js';
import { UPSTREAM_SCHEMA } from './upstream-schema.js';

export interface Setting<T> {
  readonly kind: Kind<T>;
  readonly default: T;
  /** A sentence for the reference; the first one is also the help of the flag. */
  readonly description: string;
  /** In the file, where it is not the field in snake case: units are in values there. */
  readonly key?: string;
  readonly flag?: FlagName;
  /** Where the default is not one value: how it is told. */
  readonly defaultText?: string;
  /** Taken over while the server runs. */
  readonly isLive?: boolean;
}

export interface FlagName {
  /** The property that carries it: `grpcPort`. */
  readonly name: string;
  /** `--grpc-port <number>`; undefined for what is an argument rather than a flag. */
  readonly option?: string;
}

export interface Section<T> {
  readonly description: string;
  readonly isLive?: boolean;
  readonly fields: { readonly [K in keyof T]-?: FieldOf<T[K]> };
  /** The field that a single value in the place of the section stands for. */
  readonly shorthand?: keyof T & string;
  /** Other words for settings: the path from the section's owner, the root or a runner. */
  readonly aliases?: Readonly<Record<string, Alias>>;
  /** Keys of BentoML that are refused with advice rather than as unknown. */
  readonly elsewhere?: Readonly<Record<string, string>>;
}

export type Alias =
  | { readonly to: readonly string[] }
  | {
      readonly keys: Readonly<Record<string, { readonly to: readonly string[] }>>;
      readonly elsewhere?: Readonly<Record<string, string>>;
    };

type FieldOf<V> = [NonNullable<V>] extends [string | number | boolean | readonly unknown[]]
  ? Setting<V>
  : Section<V>;

const DAY_MS = 24 * 3_600_000;
const LARGEST_BATCH = 1_000_000;
const GIB = 2 ** 30;

const { batching, resources, redis, upstream: _, ...runner } = DEFAULT_RUNNER_SETTINGS;

/** Under `runners`, for all; under `runners.<name>`, for one. */
export const RUNNER_SCHEMA: Section<RunnerSettings> = {
  description: 'Settings of all runners, or of one runner.',
  fields: {
    batchable: {
      kind: trueOrFalse,
      default: runner.batchable,
      defaultText: '`true` for models served without code and for Python models, else `false` in a service',
      description: 'Whether requests may share a batch.',
    },
    batchDim: {
      kind: batchDimensions,
      default: runner.batchDim,
      description:
        'Dimension along which requests are concatenated: one for inputs and outputs, or `[in, out]`.',
    },
    batching: {
      description: 'How batches are formed.',
      isLive: true,
      fields: {
        enabled: {
          kind: trueOrFalse,
          default: batching.enabled,
          description: 'If false, each request is a batch of its own.',
        },
        maxBatchSize: {
          kind: wholeNumber({ least: 1, most: LARGEST_BATCH }),
          default: batching.maxBatchSize,
          description: 'Maximum number of rows in a batch. Larger requests are split.',
        },
        targetLatencyMs: {
          kind: milliseconds({ least: 1, most: DAY_MS, orUnlimited: true }),
          default: batching.targetLatencyMs,
          description:
            'Target for the total latency of a request. A request that cannot meet it is rejected at once with 429. Alias, from BentoML: `max_latency_ms`.',
        },
        maxWaitMs: {
          kind: optional(milliseconds({ least: 0, most: DAY_MS })),
          default: batching.maxWaitMs,
          description:
            'Maximum time that a request is held while a slot is free. If not set, the policy decides; `policy: window` holds 10 ms.',
        },
        maxQueueSize: {
          kind: wholeNumber({ least: 1, most: 100_000_000, orUnlimited: true }),
          default: batching.maxQueueSize,
          description: 'Maximum number of queued requests. Further requests are rejected with 429.',
        },
        policy: {
          kind: choice('adaptive', 'greedy', 'window'),
          default: batching.policy,
          description: 'The policy decides when a batch is dispatched, and its size.',
        },
        prefer: {
          kind: choice('latency', 'efficiency'),
          default: batching.prefer,
          description: 'Low latency, or low backend time. For `policy: adaptive`.',
        },
        batchSizes: {
          kind: risingSizes({ most: LARGEST_BATCH }),
          default: batching.batchSizes,
          description: 'Batch sizes that the backend pads to.',
        },
      },
      aliases: { max_latency_ms: { to: ['batching', 'target_latency_ms'] } },
    },
    isolate: {
      kind: trueOrFalse,
      default: runner.isolate,
      description:
        'For models: a batch that fails is bisected until only the faulty requests fail. If false, all requests of the batch fail.',
    },
    concurrency: {
      kind: wholeNumber({ least: 1, most: 1024 }),
      default: runner.concurrency,
      description:
        'Number of slots: batches that may run at the same time. For a Python model, in each of its processes.',
    },
    replicas: {
      kind: wholeNumber({ least: 1, most: 256 }),
      default: runner.replicas,
      description: 'Number of copies of the model, each in its own process.',
    },
    python: {
      kind: optional(pythonInterpreter),
      default: runner.python,
      description:
        'Interpreter of a Python model, or the folder of a virtual environment. If not set: `VIRTUAL_ENV`, then `.venv` next to the model, then `python3`.',
    },
    resources: {
      description: 'Resources of a runner.',
      fields: {
        cpu: {
          kind: optional(wholeNumber({ least: 1, most: 1024 })),
          default: resources.cpu,
          description:
            'Threads for one batch. If not set: one for ONNX; for Python, the environment decides.',
        },
        gpu: {
          kind: devices,
          default: resources.gpu,
          description: 'GPUs that the runner may use: a number of devices, or a list of device numbers.',
        },
      },
      aliases: { 'nvidia.com/gpu': { to: ['resources', 'gpu'] } },
    },
    redis: {
      description: 'A queue in Redis; workers run its batches.',
      fields: {
        queue: {
          kind: optional(queueName),
          default: redis.queue,
          description:
            'Queue in Redis for the requests of the runner; `batchwise worker` runs its batches. If not set, the runner runs in the server.',
        },
        url: {
          kind: optional(redisUrl),
          default: redis.url,
          description:
            'URL of Redis. If not set: `REDIS__URL` or `REDIS__HOST` of the environment, else `redis://localhost:6379`. Its password is shown as `***`.',
        },
        maxBacklog: {
          kind: wholeNumber({ least: 1, most: 100_000_000, orUnlimited: true }),
          default: redis.maxBacklog,
          description:
            'Maximum number of requests in the queue, waiting or running, of all servers together. Further requests are rejected with 429.',
        },
        payload: {
          kind: optional(choice('json', 'msgpack')),
          default: redis.payload,
          description:
            'Format of items in the queue. If not set, `msgpack` for models and `json` for functions. The workers must use the same format.',
        },
      },
    },
    upstream: UPSTREAM_SCHEMA,
    timeoutMs: {
      key: 'timeout',
      kind: duration({ leastMs: 1, mostMs: DAY_MS, orUnlimited: true }),
      default: runner.timeoutMs,
      description:
        'Deadline of a request without one of its own (`batchwise-timeout-ms`): after it, the request fails with 504. Also the maximum duration of a batch. A plain number is in seconds, as in BentoML.',
      isLive: true,
    },
    warmup: {
      kind: wholeNumber({ least: 0, most: 1000 }),
      default: runner.warmup,
      description: 'Number of warm-up rounds with generated requests before the runner is ready.',
    },
  },
  aliases: {
    workers_per_resource: { to: ['replicas'] },
    traffic: {
      keys: { timeout: { to: ['timeout'] }, max_concurrency: { to: ['batching', 'max_queue_size'] } },
      elsewhere: {
        concurrency: 'use concurrency, next to traffic, for the number of concurrent batches',
        external_queue: 'requests are always queued; batching.max_queue_size limits the queue',
      },
    },
  },
  elsewhere: {
    logging: 'it has no equivalent',
    metrics: 'metrics of runners are always on, at /metrics',
  },
};

/** All but what is for runners. */
export const SERVER_SCHEMA: Section<Omit<ServerSettings, 'runners'>> = {
  description: 'The server.',
  fields: {
    server: {
      description: 'Addresses, processes and limits.',
      fields: {
        host: {
          kind: text('an address or a host name'),
          default: '127.0.0.1',
          description: 'Address to listen on. `0.0.0.0` for all.',
          flag: { name: 'host', option: '--host <address>' },
        },
        port: {
          kind: wholeNumber({ least: 0, most: 65_535 }),
          default: 3000,
          description: 'Port for HTTP. 0 selects a free port.',
          flag: { name: 'port', option: '--port <number>' },
        },
        grpcPort: {
          kind: optional(wholeNumber({ least: 0, most: 65_535 })),
          default: undefined,
          description: 'Port for gRPC. If not set, gRPC is off; 0 selects a free port.',
          flag: { name: 'grpcPort', option: '--grpc-port <number>' },
        },
        workers: {
          kind: wholeNumber({ least: 1, most: 256 }),
          default: 1,
          description:
            'Number of web processes around one copy of each model. With 1, everything runs in one process, models on threads.',
          flag: { name: 'workers', option: '--workers <count>' },
        },
        shutdownTimeoutMs: {
          key: 'shutdown_timeout',
          kind: duration({ leastMs: 0, mostMs: DAY_MS }),
          default: 30_000,
          description: 'Maximum time for accepted requests to complete after SIGTERM.',
        },
        allowedHosts: {
          kind: hostNames,
          default: [],
          description:
            'Values of the `Host` header that are accepted in addition to loopback names, such as `models.example.org`; others get 421. If not set, a server on a loopback address accepts only loopback names, as protection against DNS rebinding, and a server on another address accepts all. `*` accepts all.',
        },
        trustedHeaders: {
          kind: listOf(...TRUSTABLE_HEADERS),
          default: [],
          description:
            'Which of the headers `batchwise-priority` and `batchwise-tenant` are used, in HTTP and gRPC; the others are ignored. A client that sets them can delay the requests of all other clients, so trust them only behind a proxy that sets or removes them.',
        },
        limits: {
          description: 'Limits for clients.',
          fields: {
            bodyBytes: {
              kind: byteSize({ least: 1, most: 2 * GIB }),
              default: DEFAULT_HTTP_LIMITS.maxBodyBytes,
              description:
                'Maximum size of a request body, both as received and decompressed; decompression may enlarge it a hundred times at most. The limits for JSON values in a body grow with it. Larger bodies are rejected with 413.',
            },
            unansweredBytes: {
              kind: byteSize({ least: 2 ** 20, most: 1024 * GIB }),
              default: DEFAULT_UNANSWERED_BYTES,
              description:
                'Memory for unanswered requests and unread responses, of both protocols, in each web process. One connection may use at most as much as remains free. Further requests are rejected with 503.',
            },
            headerBytes: {
              kind: byteSize({ least: 1024, most: 2 ** 20 }),
              default: DEFAULT_HTTP_LIMITS.maxHeaderBytes,
              description:
                'Maximum size of request line and headers together. Larger ones are rejected with 431.',
            },
            connections: {
              kind: wholeNumber({ least: 1, most: 1_000_000, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.maxConnections,
              description:
                'Maximum number of open connections in each web process. Further connections are rejected with 503.',
            },
            inFlight: {
              kind: wholeNumber({ least: 1, most: 1_000_000, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.maxInFlight || Number.POSITIVE_INFINITY,
              description:
                'Maximum number of requests in flight in each web process. Further requests are rejected with 503.',
            },
            headersTimeoutMs: {
              key: 'headers_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.headersTimeoutMs,
              description:
                'Maximum time for the headers of a request to arrive. Then the request fails with 408.',
            },
            receiveTimeoutMs: {
              key: 'receive_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.receiveTimeoutMs,
              description: 'Maximum time for a whole request to arrive. Then the request fails with 408.',
            },
            requestTimeoutMs: {
              key: 'request_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.requestTimeoutMs,
              description:
                'Maximum time until the response, whatever the settings of the runners are. Then the request fails with 504.',
            },
            keepAliveTimeoutMs: {
              key: 'keep_alive_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.keepAliveTimeoutMs,
              description:
                'Idle timeout of a connection. Use a longer one than that of a load balancer in front of the server.',
            },
          },
        },
      },
    },
    models: {
      kind: modelList,
      default: [],
      description:
        'Models to serve without code: files, or URLs of upstreams. The name of a model is its `name`, else the file name without its extension, or the name in the URL.',
      flag: { name: 'models' },
    },
    service: {
      kind: optional(filePath('the path of a module with a service')),
      default: undefined,
      description: 'Path of a service module.',
      flag: { name: 'service' },
    },
    metrics: {
      description: 'Metrics.',
      fields: {
        bentomlNames: {
          kind: trueOrFalse,
          default: false,
          description:
            'Whether batch sizes are also exported as `BENTOML_{runner}_predict_adaptive_batch_size`.',
        },
      },
    },
  },
  elsewhere: {
    api_server: 'use server: server.host, server.port, server.workers, server.limits',
    services: 'use runners',
    tracing: 'it has no equivalent',
    monitoring: 'it has no equivalent',
  },
};
