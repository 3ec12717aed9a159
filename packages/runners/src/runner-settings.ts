/** What can be set for a runner. The words are those of the YAML file, in camel case. */

export interface BatchingSettings {
  /** When false every request is a batch of its own. */
  readonly enabled: boolean;
  /** In rows. */
  readonly maxBatchSize: number;
  /** What a request's whole stay is to be; what cannot be served within it is refused. The core's `targetLatencyMs`. */
  readonly maxLatencyMs: number;
  /** How long a request may wait for company while the backend is free; undefined leaves it to the policy. */
  readonly maxWaitMs: number | undefined;
  /** In requests. */
  readonly maxQueueSize: number;
  readonly policy: 'adaptive' | 'greedy' | 'window';
  readonly prefer: 'latency' | 'efficiency';
  /** The sizes that the backend pads to; empty when it does not. */
  readonly batchSizes: readonly number[];
}

export interface ResourceSettings {
  /** Threads that a model may use for one batch; undefined: one. */
  readonly cpu: number | undefined;
  /** Devices it may see, by number; empty for none. */
  readonly gpu: readonly number[];
}

/** A runner that is placed in Redis: processors elsewhere run its batches. */
export interface RedisSettings {
  /** The queue that its requests go to; undefined: it is not in Redis. */
  readonly queue: string | undefined;
  /** Undefined: as the environment says, else Redis on this machine. */
  readonly url: string | undefined;
  /** How many requests of the queue, of all servers together, may be outstanding. */
  readonly maxBacklog: number;
  /** How items travel; undefined: tensors as MessagePack, the items of functions as JSON. */
  readonly payload: 'json' | 'msgpack' | undefined;
}

/** A runner whose batches run elsewhere: behind gRPC or HTTP, in whatever language. */
export interface UpstreamSettings {
  /** Where; none: it runs here. Several are copies of one backend. */
  readonly url: readonly string[];
  /** What the model is called there; undefined: as the URL says, else as the runner. */
  readonly model: string | undefined;
  /** Undefined: as the URL says, else the one that the upstream chooses. */
  readonly version: string | undefined;
  /** How tensors travel over HTTP. */
  readonly format: 'binary' | 'json';
  /** To each URL: of HTTP as many as calls at a time, of gRPC for more than one can carry. */
  readonly connections: number;
  /** How long it is waited for at the start. */
  readonly startTimeoutMs: number;
  /** How often a batch that was certainly not begun is sent again. */
  readonly retries: number;
  /** So many calls in a row without a sign of it, and nothing is sent for a while. */
  readonly maxFailures: number;
  /** For how long, at first. */
  readonly cooldownMs: number;
  /** How often it is asked whether it is ready while nothing else is; Infinity: never. */
  readonly healthIntervalMs: number;
  /** In PEM: whom to trust, and who this is. */
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The name that its certificate must have; undefined: the host of the URL. */
  readonly serverName: string | undefined;
}

export interface RunnerSettings {
  readonly batchable: boolean;
  /** The dimension along which requests are concatenated, of inputs and of outputs. */
  readonly batchDim: readonly [input: number, output: number];
  readonly batching: BatchingSettings;
  /** Batches that run at a time. */
  readonly concurrency: number;
  /** Runner processes, when there are any. */
  readonly replicas: number;
  readonly resources: ResourceSettings;
  readonly redis: RedisSettings;
  readonly upstream: UpstreamSettings;
  /** The longest a request may take. */
  readonly timeoutMs: number;
  /** Rounds of made-up requests before it counts as ready. */
  readonly warmup: number;
}

export const DEFAULT_RUNNER_SETTINGS: RunnerSettings = {
  batchable: false,
  batchDim: [0, 0],
  batching: {
    enabled: true,
    maxBatchSize: 100,
    maxLatencyMs: 1000,
    maxWaitMs: undefined,
    maxQueueSize: 10_000,
    policy: 'adaptive',
    prefer: 'latency',
    batchSizes: [],
  },
  concurrency: 1,
  replicas: 1,
  resources: { cpu: undefined, gpu: [] },
  redis: { queue: undefined, url: undefined, maxBacklog: 10_000, payload: undefined },
  upstream: {
    url: [],
    model: undefined,
    version: undefined,
    format: 'binary',
    connections: 16,
    startTimeoutMs: 60_000,
    retries: 1,
    maxFailures: 5,
    cooldownMs: 1000,
    healthIntervalMs: 5000,
    caFile: undefined,
    certFile: undefined,
    keyFile: undefined,
    serverName: undefined,
  },
  timeoutMs: 30_000,
  warmup: 3,
};
