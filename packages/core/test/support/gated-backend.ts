/** Backends whose batches stay pending until the test answers them. */
import {
  type Backend,
  type BackendOptions,
  BackendSet,
  type BackendSetOptions,
  Batcher,
  BatchwiseError,
  VirtualClock,
} from 'batchwise';
import { Gate } from './gate.js';

export class GatedBackend implements Backend<number, number> {
  readonly id: string;
  readonly slots: number;
  readonly gate = new Gate<number, number>();
  readonly readsAhead: boolean;
  /** A backend that does not respond to new batches. */
  isUnavailable = false;

  constructor(id: string, slots = 1, readsAhead = false) {
    this.id = id;
    this.slots = slots;
    this.readsAhead = readsAhead;
  }

  run: Backend<number, number>['run'] = (items, context) => {
    const running = this.gate.handler(items, context);
    if (this.isUnavailable) this.gate.calls.at(-1)?.fail(notStarted(this.id));
    return running;
  };

  get batches(): number[][] {
    return this.gate.batches;
  }

  /** Answers the batch that was started last. */
  answer(): void {
    const call = this.gate.call(this.gate.calls.length - 1);
    call.answer(call.items);
  }

  fail(error: Error): void {
    this.gate.call(this.gate.calls.length - 1).fail(error);
  }
}

export function notStarted(id: string): BatchwiseError {
  return new BatchwiseError('UNAVAILABLE', `${id} is unavailable`, { notStarted: true });
}

export function lost(id: string): BatchwiseError {
  return new BatchwiseError('UNAVAILABLE', `the connection to ${id} was lost`);
}

/** A batcher with these backends, on virtual time. */
export function placed(
  backends: readonly Backend<number, number>[],
  { set = {}, ...options }: Partial<BackendOptions<number, number>> & { set?: BackendSetOptions } = {},
) {
  const clock = new VirtualClock();
  const batcher = new Batcher<number, number>({
    backends: new BackendSet(backends, { clock, ...set }),
    clock,
    ...options,
  });
  return { clock, batcher };
}
