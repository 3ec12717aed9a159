/** A backend as users describe it, its validation, and its state within a set. */
import type { BatchContext, Handler, Results, TypedResults } from '../batch/handler.js';
import type { RunningBatch } from '../batch/running-batch.js';
import { describe } from '../errors/describe.js';
import {
  invalidOption,
  validBoolean,
  validCount,
  validFunction,
  validObject,
  validString,
} from '../errors/valid.js';
import { BackendHealth, type HealthSettings } from './backend-health.js';

/** One of several places where the batches of a batcher run: a process, a device, a remote server. */
export interface Backend<I, R> {
  /** Names the backend in statistics, decisions and errors. */
  readonly id: string;
  /** How many batches it runs at a time, 1 to Infinity. */
  readonly slots: number;
  /**
   * Runs a batch, as a handler does. What it rejects with says something about the backend:
   * `UNAVAILABLE`, `HANDLER_TIMEOUT` and `DEADLINE_EXCEEDED` count as failures of the backend; with
   * `notStarted: true` the items go back to the head of the queue. A `BatchwiseError` other than
   * `INVALID_ITEM` is passed on to every caller of the batch as it is.
   */
  run(
    items: I[],
    context: BatchContext,
  ): PromiseLike<Results<R> | TypedResults<R>> | Results<R> | TypedResults<R>;
  /**
   * While all slots are busy, the backend takes one more batch and starts it when a slot is free: its data is
   * transferred meanwhile. Only full batches are sent ahead, because waiting cannot improve them.
   * @default false
   */
  readonly readsAhead?: boolean | undefined;
  /**
   * Resolves when the backend can take batches. If it is given, it decides after a back-off instead of a
   * trial batch.
   */
  probe?(): PromiseLike<unknown>;
}

export function validBackend<I, R>(where: string, value: unknown): Backend<I, R> {
  const { id, slots, run, probe, readsAhead } = validObject(where, value);
  validString(`${where}.id`, id);
  validCount(`${where}.slots`, slots);
  validFunction(`${where}.run`, run);
  if (readsAhead !== undefined) validBoolean(`${where}.readsAhead`, readsAhead);
  if (probe !== undefined) validFunction(`${where}.probe`, probe);
  return value as Backend<I, R>;
}

export function validBackends<I, R>(value: unknown): readonly Backend<I, R>[] {
  if (!Array.isArray(value)) {
    throw invalidOption(
      `backends: expected a list of { id, slots, run } or a BackendSet, got ${describe(value)}.`,
    );
  }
  return value.map((backend, i) => validBackend<I, R>(`backends[${i}]`, backend));
}

/** A backend in a set: its slots, its health, and the batches of all batchers that run there. */
// biome-ignore lint/suspicious/noExplicitAny: it passes items and results through and reads neither
export class SetMember<I = any, R = any> {
  readonly id: string;
  readonly slots: number;
  readonly run: Handler<I, R>;
  readonly probe: (() => PromiseLike<unknown>) | undefined;
  readonly health: BackendHealth;
  readonly running: RunningBatch[] = [];
  batches = 0;
  returned = 0;
  /** Ready, or with a trial due, or tried because none is ready. */
  isUsable = false;
  isTrialDue = false;
  isProbing = false;
  isRemoved = false;
  /** Called when it is removed. */
  onRemoved: (() => void)[] = [];
  readonly #readsAhead: boolean;

  constructor(backend: Backend<I, R>, health: HealthSettings) {
    const { id, slots, probe, readsAhead = false } = backend;
    this.id = id;
    this.slots = slots;
    // Looked up at each call, so that a method that is replaced later (subclass, spy) takes effect.
    this.run = (items, context) => backend.run(items, context);
    this.probe = probe === undefined ? undefined : () => probe.call(backend);
    this.health = new BackendHealth(health, probe !== undefined);
    this.#readsAhead = readsAhead;
  }

  get freeSlots(): number {
    if (!this.isUsable) return 0;
    const free = Math.max(0, this.slots - this.running.length);
    return this.isTrialDue ? Math.min(1, free) : free;
  }

  get canPrefetch(): boolean {
    return this.#readsAhead && this.isUsable && !this.isTrialDue && this.running.length === this.slots;
  }
}
