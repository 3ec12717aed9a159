/**
 * Calls of a batcher by its own handler. A handler that awaits such a call needs a second slot. When the handlers in all
 * slots do so, no batch can end: the last of these calls is rejected with `DEADLOCK`. Calls that the handler does not
 * await are not rejected.
 */
import { callingBatch } from '../batch/async-context.js';
import { deadlockError } from '../errors/rejections.js';
import type { Dispatcher } from './dispatcher.js';

interface CancellableCall<T> {
  readonly promise: Promise<T>;
  cancel(reason: string): void;
}

export function submitNested<T>(dispatcher: Dispatcher, submit: () => CancellableCall<T>): Promise<T> {
  const { settings } = dispatcher;
  const running = dispatcher.running.all;
  const caller = callingBatch();
  // A batch that is not running belongs to another batcher or has ended.
  const batch = running.find((one) => one === caller);
  const { promise, cancel } = submit();
  if (batch === undefined) return promise;

  let isAwaited = false;
  let isDeadlocked = false;
  const ended = (): void => {
    if (isAwaited) batch.awaitedCalls -= 1;
    isAwaited = false;
  };
  const rejectIfDeadlocked = (): void => {
    if (!isAwaited || !running.includes(batch) || running.length < dispatcher.placement.slots) return;
    isDeadlocked = running.every(({ awaitedCalls }) => awaitedCalls > 0);
    if (isDeadlocked) cancel('the handler would wait for itself');
  };
  const awaited = (): void => {
    if (isAwaited) return;
    isAwaited = true;
    batch.awaitedCalls += 1;
    // Later, because a handler that ends within this turn does not wait.
    settings.clock.defer(rejectIfDeadlocked);
  };
  promise.then(ended, ended);
  return new AwaitedPromise<T>(awaited, (resolve, reject) => {
    promise.then(resolve, (error) =>
      reject(isDeadlocked ? deadlockError(settings.name, dispatcher.placement.slots) : error),
    );
  });
}

/** A promise that reports when a callback for its result is added: by `await`, `Promise.all`, `then`. */
class AwaitedPromise<T> extends Promise<T> {
  readonly #awaited: (() => void) | undefined;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(
    awaited: () => void,
    executor: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void,
  ) {
    super(executor);
    this.#awaited = awaited;
  }

  // biome-ignore lint/suspicious/noThenProperty: a promise has this method
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (onFulfilled) this.#awaited?.();
    return super.then(onFulfilled, onRejected);
  }
}
