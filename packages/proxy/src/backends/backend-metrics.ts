/** The metrics of a backend. The label `backend` is its address. */
import { STATUS } from '@batchwise/grpc';
import type { CounterChild, Registry } from '@batchwise/metrics';

/** The state of a backend when the metrics are collected. */
export interface BackendState {
  /** Connected, healthy and not ejected. */
  readonly isUp: boolean;
  readonly batchesInFlight: number;
  /** Batches that the backend did not start and that were retried, since it was added. */
  readonly batchesRetried: number;
}

export type BackendInstruments = ReturnType<typeof backendInstruments>;

/** The label `cause` by status code. */
const CAUSES: readonly string[] = Object.entries(STATUS).reduce<string[]>((causes, [name, status]) => {
  causes[status] = name.toLowerCase();
  return causes;
}, []);

export function backendInstruments(registry: Registry) {
  const labels = ['backend'] as const;
  return {
    up: registry.gauge({
      name: 'batchwise_backend_up',
      help: '1 if the backend is connected, healthy and not ejected, otherwise 0.',
      labels,
      rule: 'min',
    }),
    batchesInFlight: registry.gauge({
      name: 'batchwise_backend_batches_in_flight',
      help: 'Batches in flight at the backend.',
      labels,
      rule: 'sum',
    }),
    batches: registry.counter({
      name: 'batchwise_backend_batches_total',
      help: 'Batches that were sent to the backend.',
      labels,
    }),
    failures: registry.counter({
      name: 'batchwise_backend_failures_total',
      help: 'Failures of the backend by cause: the status of a call, a connection, a health check.',
      labels: ['backend', 'cause'],
    }),
    ejections: registry.counter({
      name: 'batchwise_backend_ejections_total',
      help: 'Ejections of the backend because of its failures.',
      labels,
    }),
    surplusAnswers: registry.counter({
      name: 'batchwise_backend_surplus_answers_total',
      help: 'Surplus answers: more answers than items in a batch. They are ignored.',
      labels,
    }),
    retries: registry.counter({
      name: 'batchwise_backend_batch_retries_total',
      help: 'Batches that the backend certainly did not start and that were retried.',
      labels,
    }),
  };
}

export class BackendMetrics {
  readonly name: string;
  readonly #instruments: BackendInstruments;
  readonly #state: () => BackendState;
  readonly #forget: () => void;
  readonly #batches: CounterChild;
  readonly #ejections: CounterChild;
  readonly #surplusAnswers: CounterChild;
  readonly #retries: CounterChild;
  readonly #connectionFailures: CounterChild;
  readonly #healthFailures: CounterChild;
  /** By status, created at the first failure. */
  readonly #callFailures: CounterChild[] = [];
  /** The value of `batchesRetried` at the last collection. */
  #countedRetries = 0;
  #isForgotten = false;

  constructor(instruments: BackendInstruments, name: string, state: () => BackendState, forget: () => void) {
    this.name = name;
    this.#instruments = instruments;
    this.#state = state;
    this.#forget = forget;
    this.#batches = instruments.batches.labels(name);
    this.#ejections = instruments.ejections.labels(name);
    this.#surplusAnswers = instruments.surplusAnswers.labels(name);
    this.#retries = instruments.retries.labels(name);
    // The usual causes exist from the start, because Prometheus sees an increase only for existing series.
    this.#connectionFailures = instruments.failures.labels(name, 'connection');
    this.#healthFailures = instruments.failures.labels(name, 'health_check');
    this.#callFailuresOf(STATUS.UNAVAILABLE);
  }

  batchSent(): void {
    this.#batches.inc();
  }

  /** A batch ended with a failure of the backend. */
  callFailed(status: number): void {
    // Calls may end after the backend was removed and must not create its series again.
    if (this.#isForgotten) return;
    (this.#callFailures[status] ?? this.#callFailuresOf(status)).inc();
  }

  /** A connection failed or was lost. */
  connectionFailed(): void {
    this.#connectionFailures.inc();
  }

  healthCheckFailed(): void {
    this.#healthFailures.inc();
  }

  ejected(): void {
    this.#ejections.inc();
  }

  surplusAnswers(count: number): void {
    this.#surplusAnswers.inc(count);
  }

  collect(): void {
    const { isUp, batchesInFlight, batchesRetried } = this.#state();
    this.#instruments.up.labels(this.name).set(isUp ? 1 : 0);
    this.#instruments.batchesInFlight.labels(this.name).set(batchesInFlight);
    this.#retries.inc(batchesRetried - this.#countedRetries);
    this.#countedRetries = batchesRetried;
  }

  /** The backend was removed: deletes its series, so that changing addresses do not accumulate. */
  forget(): void {
    this.#isForgotten = true;
    this.#forget();
  }

  #callFailuresOf(status: number): CounterChild {
    const failures = this.#instruments.failures.labels(this.name, CAUSES[status] ?? 'unknown');
    if (status in CAUSES) this.#callFailures[status] = failures;
    return failures;
  }
}
