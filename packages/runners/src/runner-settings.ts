/** The settings of a runner. The names are those of the YAML file, in camel case. */

export interface BatchingSettings {
  /** If false, every request is a batch of its own. */
  readonly enabled: boolean;
  /** Maximum number of rows in a batch. */
  readonly maxBatchSize: number;
  /**
   * Target for the total latency of a request. A request that cannot meet it is rejected.
   */
  readonly targetLatencyMs: number;
  /** How long a request may be held for a larger batch while a slot is free. Undefined: the policy decides. */
  readonly maxWaitMs: number | undefined;
  /** Maximum number of queued requests. */
  readonly maxQueueSize: number;
  readonly policy: 'adaptive' | 'greedy' | 'window';
  readonly prefer: 'latency' | 'efficiency';
  /** The sizes that the backend pads batches to. Empty: no padding. */
  readonly batchSizes: readonly number[];
}

export interface ResourceSettings {
  /** Threads that a model may use for one batch. Undefined: one. */
  readonly cpu: number | undefined;
  /** The GPUs of the model, by number. Empty: none. */
  readonly gpu: readonly number[];
}

/** A runner whose batches run on processors, through a queue in Redis. */
export interface RedisSettings {
  /** The queue of its requests. Undefined: Redis is not used. */
  readonly queue: string | undefined;
  /** Undefined: from the environment, else Redis on this machine. */
  readonly url: string | undefined;
  /** The maximum number of outstanding requests in the queue, of all servers together. */
  readonly maxBacklog: number;
  /** The format of items. Undefined: MessagePack for tensors, JSON for the items of functions. */
  readonly payload: 'json' | 'msgpack' | undefined;
}

/** A runner whose batches run on an upstream, behind gRPC or HTTP. */
export interface UpstreamSettings {
  /** The URLs of the upstream. Empty: no upstream. Several URLs are copies of one backend. */
  readonly url: readonly string[];
  /** The name of the model on the upstream. Undefined: from the URL, else the name of the runner. */
  readonly model: string | undefined;
  /** Undefined: from the URL, else the upstream chooses. */
  readonly version: string | undefined;
  /** The format of tensors over HTTP. */
  readonly format: 'binary' | 'json';
  /**
   * The maximum number of connections per URL. HTTP needs one per concurrent call; gRPC opens more than one only when
   * the first is full.
   */
  readonly connections: number;
  /** How long to wait for the upstream at the start. */
  readonly startTimeoutMs: number;
  /** How often to retry a batch that the upstream has certainly not started. */
  readonly retries: number;
  /** The number of consecutive calls without a response that ejects a URL. */
  readonly maxFailures: number;
  /** The duration of the first ejection. */
  readonly cooldownMs: number;
  /** The interval of health checks while there are no calls. Infinity: no health checks. */
  readonly healthIntervalMs: number;
  /** PEM files: the trusted authorities, and the client's certificate and key. */
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** The expected name in the certificate. Undefined: the host of the URL. */
  readonly serverName: string | undefined;
}

export interface RunnerSettings {
  readonly batchable: boolean;
  /** The dimension along which requests are concatenated, for inputs and for outputs. */
  readonly batchDim: readonly [input: number, output: number];
  readonly batching: BatchingSettings;
  /**
   * Of models: a batch that fails is bisected until only the faulty requests fail. If false, all requests of the batch
   * fail.
   */
  readonly isolate: boolean;
  /** Number of slots: batches that may run at the same time. */
  readonly concurrency: number;
  /** The number of runner processes, if there are any. Of a Python model: the number of Python processes. */
  readonly replicas: number;
  /**
   * Of a Python model: an interpreter, or the folder of a virtual environment. Undefined: the active virtual
   * environment, else `.venv` next to the model, else `python3`.
   */
  readonly python: string | undefined;
  readonly resources: ResourceSettings;
  readonly redis: RedisSettings;
  readonly upstream: UpstreamSettings;
  /** Deadline of a request without one of its own, and maximum duration of a batch. */
  readonly timeoutMs: number;
  /** The number of warm-up rounds before the runner is ready. */
  readonly warmup: number;
}

export const DEFAULT_RUNNER_SETTINGS: RunnerSettings = {
  batchable: false,
  batchDim: [0, 0],
  batching: {
    enabled: true,
    maxBatchSize: 64,
    targetLatencyMs: 1000,
    maxWaitMs: undefined,
    maxQueueSize: 10_000,
    policy: 'adaptive',
    prefer: 'latency',
    batchSizes: [],
  },
  isolate: true,
  concurrency: 1,
  replicas: 1,
  python: undefined,
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
