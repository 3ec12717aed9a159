/** One backend's share of the metrics; the label `backend` is its address. */

import { STATUS } from '@batchwise/grpc';
import type { CounterChild, Registry } from '@batchwise/metrics';

/** How a backend stands, read when the metrics are. */
export interface BackendState {
  /** Connected and well, and not ejected. */
  readonly isUp: boolean;
  readonly batchesInFlight: number;
}

export type BackendInstruments = ReturnType<typeof backendInstruments>;

/** Causes by the number of the status with which a call ended. */
const CAUSES: readonly string[] = Object.entries(STATUS).reduce<string[]>((causes, [name, status]) => {
  causes[status] = name.toLowerCase();
  return causes;
}, []);

export function backendInstruments(registry: Registry) {
  const labels = ['backend'] as const;
  return {
    up: registry.gauge({
      name: 'batchwise_backend_up',
      help: '1 while the backend is connected and well; 0 while it is not, or is ejected.',
      labels,
      rule: 'min',
    }),
    batchesInFlight: registry.gauge({
      name: 'batchwise_backend_batches_in_flight',
      help: 'Batches that run at the backend.',
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
      help: 'What spoke against the backend, by cause: the status of a call, a connection, a health check.',
      labels: ['backend', 'cause'],
    }),
    ejections: registry.counter({
      name: 'batchwise_backend_ejections_total',
      help: 'How often the backend was left out for a while because of its failures.',
      labels,
    }),
    surplusAnswers: registry.counter({
      name: 'batchwise_backend_surplus_answers_total',
      help: 'Answers of the backend beyond the items of their batch, which were ignored.',
      labels,
    }),
    sentAgain: registry.counter({
      name: 'batchwise_backend_batches_sent_again_total',
      help: 'Batches that the backend certainly did not begin and that were sent once more.',
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
  readonly #sentAgain: CounterChild;
  readonly #connectionFailures: CounterChild;
  readonly #healthFailures: CounterChild;
  /** By status, once there was one. */
  readonly #callFailures: CounterChild[] = [];
  #isForgotten = false;

  constructor(instruments: BackendInstruments, name: string, state: () => BackendState, forget: () => void) {
    this.name = name;
    this.#instruments = instruments;
    this.#state = state;
    this.#forget = forget;
    this.#batches = instruments.batches.labels(name);
    this.#ejections = instruments.ejections.labels(name);
    this.#surplusAnswers = instruments.surplusAnswers.labels(name);
    this.#sentAgain = instruments.sentAgain.labels(name);
    // Shown from the start, because an increase is only seen of what was there before; other causes once they occur.
    this.#connectionFailures = instruments.failures.labels(name, 'connection');
    this.#healthFailures = instruments.failures.labels(name, 'health_check');
    this.#callFailuresOf(STATUS.UNAVAILABLE);
  }

  batchSent(): void {
    this.#batches.inc();
  }

  /** It certainly had not begun this batch, which is now sent once more, there or elsewhere. */
  batchSentAgain(): void {
    this.#sentAgain.inc();
  }

  /** A call, batched or passed through, ended with a status that speaks against the backend. */
  callFailed(status: number): void {
    // Calls end after their backend has gone; they must not bring it back.
    if (this.#isForgotten) return;
    (this.#callFailures[status] ?? this.#callFailuresOf(status)).inc();
  }

  /** No connection could be made, or it was lost. */
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
    const { isUp, batchesInFlight } = this.#state();
    this.#instruments.up.labels(this.name).set(isUp ? 1 : 0);
    this.#instruments.batchesInFlight.labels(this.name).set(batchesInFlight);
  }

  /** The backend is gone for good: nothing of it is shown any more, so that addresses that come and go leave nothing behind. */
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
