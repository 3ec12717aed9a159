/**
 * Every key of the configuration: its kind, its default, what it means, its flag. Validation, defaults, the
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
  description: 'Settings of all runners, or of one.',
  fields: {
    batchable: {
      kind: trueOrFalse,
      default: runner.batchable,
      defaultText: '`true` for models served without code and for Python models, else `false` in a service',
      description: 'Whether requests may share a batch at all.',
    },
    batchDim: {
      kind: batchDimensions,
      default: runner.batchDim,
      description: 'The dimension along which requests are put together: one for both, or `[in, out]`.',
    },
    batching: {
      description: 'How batches are formed.',
      isLive: true,
      fields: {
        enabled: {
          kind: trueOrFalse,
          default: batching.enabled,
          description: 'Off, every request is a batch of its own.',
        },
        maxBatchSize: {
          kind: wholeNumber({ least: 1, most: LARGEST_BATCH }),
          default: batching.maxBatchSize,
          description: 'The most rows in a batch. Larger requests are split.',
        },
        maxLatencyMs: {
          kind: milliseconds({ least: 1, most: DAY_MS, orUnlimited: true }),
          default: batching.maxLatencyMs,
          description:
            'Target for the total latency of a request. A request that cannot meet it is rejected with 429 at once.',
        },
        maxWaitMs: {
          kind: optional(milliseconds({ least: 0, most: DAY_MS })),
          default: batching.maxWaitMs,
          description:
            'The longest a request may wait for company while the backend is free. With none, the policy decides; `window` waits 10 ms.',
        },
        maxQueueSize: {
          kind: wholeNumber({ least: 1, most: 100_000_000, orUnlimited: true }),
          default: batching.maxQueueSize,
          description: 'How many requests may wait. One more is refused with 429.',
        },
        policy: {
          kind: choice('adaptive', 'greedy', 'window'),
          default: batching.policy,
          description: 'What decides when a batch leaves.',
        },
        prefer: {
          kind: choice('latency', 'efficiency'),
          default: batching.prefer,
          description: 'Quick answers, or a backend that is spared. Of `policy: adaptive`.',
        },
        batchSizes: {
          kind: risingSizes({ most: LARGEST_BATCH }),
          default: batching.batchSizes,
          description: 'The sizes that the backend pads batches to.',
        },
      },
    },
    isolate: {
      kind: trueOrFalse,
      default: runner.isolate,
      description:
        'Of models: a batch that fails is bisected until only the faulty requests fail. Off, all requests of the batch fail.',
    },
    concurrency: {
      kind: wholeNumber({ least: 1, most: 1024 }),
      default: runner.concurrency,
      description: 'The maximum number of concurrent batches, for a Python model in each of its processes.',
    },
    replicas: {
      kind: wholeNumber({ least: 1, most: 256 }),
      default: runner.replicas,
      description: 'The number of copies of the model, each in its own process.',
    },
    python: {
      kind: optional(pythonInterpreter),
      default: runner.python,
      description:
        'The interpreter of a Python model, or the folder of a virtual environment. With none: `VIRTUAL_ENV`, then `.venv` next to the model, then `python3`.',
    },
    resources: {
      description: 'What a runner may use.',
      fields: {
        cpu: {
          kind: optional(wholeNumber({ least: 1, most: 1024 })),
          default: resources.cpu,
          description:
            'Threads for one batch. With none: one for ONNX, and as in the environment for Python.',
        },
        gpu: {
          kind: devices,
          default: resources.gpu,
          description: 'The devices it may see: how many, or their numbers.',
        },
      },
      aliases: { 'nvidia.com/gpu': { to: ['resources', 'gpu'] } },
    },
    redis: {
      description: 'A queue in Redis, whose processors run the batches.',
      fields: {
        queue: {
          kind: optional(queueName),
          default: redis.queue,
          description:
            'The queue that requests go to. With none, the runner runs here. `batchwise worker` takes them from there.',
        },
        url: {
          kind: optional(redisUrl),
          default: redis.url,
          description:
            'Where Redis is. With none, as `REDIS__URL` or `REDIS__HOST` say, else `redis://localhost:6379`. Its password is shown as `***`.',
        },
        maxBacklog: {
          kind: wholeNumber({ least: 1, most: 100_000_000, orUnlimited: true }),
          default: redis.maxBacklog,
          description:
            'How many requests of the queue, of all servers together, may wait or run. One more is refused with 429.',
        },
        payload: {
          kind: optional(choice('json', 'msgpack')),
          default: redis.payload,
          description:
            'How items travel. With none, `msgpack` for models and `json` for functions. The workers say the same.',
        },
      },
    },
    upstream: UPSTREAM_SCHEMA,
    timeoutMs: {
      key: 'timeout',
      kind: duration({ leastMs: 1, mostMs: DAY_MS, orUnlimited: true }),
      default: runner.timeoutMs,
      description: 'The longest a request may take. Then it is answered with 504.',
      isLive: true,
    },
    warmup: {
      kind: wholeNumber({ least: 0, most: 1000 }),
      default: runner.warmup,
      description: 'Rounds of made-up requests before a runner counts as ready.',
    },
  },
  aliases: {
    workers_per_resource: { to: ['replicas'] },
    traffic: {
      keys: { timeout: { to: ['timeout'] }, max_concurrency: { to: ['batching', 'max_queue_size'] } },
      elsewhere: {
        concurrency: 'batches that run at a time are concurrency, beside traffic',
        external_queue: 'requests always wait in a queue here; batching.max_queue_size bounds it',
      },
    },
  },
  elsewhere: {
    logging: 'it has no equivalent here',
    metrics: 'metrics of runners are always on here, at /metrics',
  },
};

/** All but what is for runners. */
export const SERVER_SCHEMA: Section<Omit<ServerSettings, 'runners'>> = {
  description: 'The server.',
  fields: {
    server: {
      description: 'Where it listens, and what it lets in.',
      fields: {
        host: {
          kind: text('an address or a host name'),
          default: '127.0.0.1',
          description: 'The address to listen at. `0.0.0.0` for all.',
          flag: { name: 'host', option: '--host <address>' },
        },
        port: {
          kind: wholeNumber({ least: 0, most: 65_535 }),
          default: 3000,
          description: 'The port for HTTP. 0 for any that is free.',
          flag: { name: 'port', option: '--port <number>' },
        },
        grpcPort: {
          kind: optional(wholeNumber({ least: 0, most: 65_535 })),
          default: undefined,
          description: 'The port for gRPC. With none, there is no gRPC; 0 for any that is free.',
          flag: { name: 'grpcPort', option: '--grpc-port <number>' },
        },
        workers: {
          kind: wholeNumber({ least: 1, most: 256 }),
          default: 1,
          description:
            'Web processes around one copy of each model. With 1, everything is in one process, models on threads.',
          flag: { name: 'workers', option: '--workers <count>' },
        },
        shutdownTimeoutMs: {
          key: 'shutdown_timeout',
          kind: duration({ leastMs: 0, mostMs: DAY_MS }),
          default: 30_000,
          description: 'How long what was accepted may take to finish after SIGTERM.',
        },
        allowedHosts: {
          kind: hostNames,
          default: [],
          description:
            'The values of `Host` that are answered beside loopback names, such as `models.example.org`; others get 421. Without any, a server at a loopback address answers only loopback names, against DNS rebinding, and a server at another address answers all. `*` allows all.',
        },
        trustedHeaders: {
          kind: listOf(...TRUSTABLE_HEADERS),
          default: [],
          description:
            'Which of the headers `batchwise-priority` and `batchwise-tenant` count, in HTTP and gRPC; the others are ignored. A client that sets them can keep all others waiting: only behind a proxy that sets or removes them.',
        },
        limits: {
          description: 'What a client may send, and for how long.',
          fields: {
            bodyBytes: {
              kind: byteSize({ least: 1, most: 2 * GIB }),
              default: DEFAULT_HTTP_LIMITS.maxBodyBytes,
              description:
                'The largest body of a request, as it comes and again decompressed, at most a hundred times its size. What JSON in it may contain grows with it. More is rejected with 413.',
            },
            unansweredBytes: {
              kind: byteSize({ least: 2 ** 20, most: 1024 * GIB }),
              default: DEFAULT_UNANSWERED_BYTES,
              description:
                'Memory for requests that are not answered and for answers that are not read, of both protocols, in each web process. One connection may hold as much as is left. More is rejected with 503.',
            },
            headerBytes: {
              kind: byteSize({ least: 1024, most: 2 ** 20 }),
              default: DEFAULT_HTTP_LIMITS.maxHeaderBytes,
              description: 'Request line and headers together. More are refused with 431.',
            },
            connections: {
              kind: wholeNumber({ least: 1, most: 1_000_000, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.maxConnections,
              description: 'Connections open at a time, in each web process. One more is told 503.',
            },
            inFlight: {
              kind: wholeNumber({ least: 1, most: 1_000_000, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.maxInFlight || Number.POSITIVE_INFINITY,
              description:
                'Requests that come in or are worked on at a time, in each web process. One more is told 503.',
            },
            headersTimeoutMs: {
              key: 'headers_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.headersTimeoutMs,
              description: 'How long a client may take to send its headers. Then it is told 408.',
            },
            receiveTimeoutMs: {
              key: 'receive_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.receiveTimeoutMs,
              description: 'How long a client may take to send its whole request. Then it is told 408.',
            },
            requestTimeoutMs: {
              key: 'request_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.requestTimeoutMs,
              description:
                'How long an answer may take, whatever the runners do. Then the client is told 504.',
            },
            keepAliveTimeoutMs: {
              key: 'keep_alive_timeout',
              kind: duration({ leastMs: 100, mostMs: DAY_MS, orUnlimited: true }),
              default: DEFAULT_HTTP_LIMITS.keepAliveTimeoutMs,
              description:
                'How long a connection may be idle. Longer than a load balancer before the server keeps it.',
            },
          },
        },
      },
    },
    models: {
      kind: modelList,
      default: [],
      description:
        'Models to serve without code: files, or URLs of upstreams that have them. A model is called by its `name`, else as its file without the ending, or as its URL says.',
      flag: { name: 'models' },
    },
    service: {
      kind: optional(filePath('the path of a module with a service')),
      default: undefined,
      description: 'A module with a service.',
      flag: { name: 'service' },
    },
    metrics: {
      description: 'What is told at /metrics.',
      fields: {
        bentomlNames: {
          kind: trueOrFalse,
          default: false,
          description: 'Batch sizes also as `BENTOML_{runner}_predict_adaptive_batch_size`.',
        },
      },
    },
  },
  elsewhere: {
    api_server: 'it is called server here: server.host, server.port, server.workers, server.limits',
    services: 'what is said of services there is said of runners here',
    tracing: 'it has no equivalent here',
    monitoring: 'it has no equivalent here',
  },
};
