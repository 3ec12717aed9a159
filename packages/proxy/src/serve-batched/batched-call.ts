/**
 * One call of a batched method, streaming or unary: its items, its context, one run of the method, and exactly one end
 * (finished, failed or cancelled).
 */
import type { EventEmitter } from 'node:events';
import { STATUS } from '@batchwise/grpc';
import type { ServerDuplexStream, ServerUnaryCall } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { batchedStatus } from './batched-errors.js';
import type {
  BatchEnd,
  BatchedContext,
  BatchedMethod,
  BatchedResults,
  BatchedSettings,
} from './batched-options.js';

/** The state shared by all calls of a method. */
export interface ServedMethod {
  /** The name for error messages. */
  readonly name: string;
  readonly handler: BatchedMethod<unknown, unknown>;
  readonly bytesOf: (item: unknown) => number;
  /** The placeholder for a failed item. Throws if there is none. */
  readonly emptyAnswer: () => unknown;
  /** Throws if the answer is not a message of the method. */
  readonly serialize: (answer: unknown) => Uint8Array;
  /** Set after an answer could not be serialized: from then on each answer is checked before it is sent, so that an invalid one fails alone. */
  checksAnswers: boolean;
  readonly settings: BatchedSettings;
}

export type AnyServerCall = (ServerDuplexStream<unknown, unknown> | ServerUnaryCall<unknown, unknown>) &
  EventEmitter;

export class BatchedCall {
  readonly #items: unknown[] = [];
  readonly #method: ServedMethod;
  readonly #context: BatchedContext;
  readonly #abort = new AbortController();
  /** Counted separately, because the method may modify the items array. */
  #received = 0;
  #bytes = 0;
  #isEnded = false;
  #serializationError: () => Error | undefined = () => undefined;

  constructor(method: ServedMethod, call: AnyServerCall) {
    this.#method = method;
    this.#context = {
      path: call.getPath(),
      signal: this.#abort.signal,
      metadata: call.metadata,
      deadline: dateOf(call.getDeadline()),
      peer: call.getPeer(),
    };
    // @grpc/grpc-js emits this after every end, not only after a cancellation.
    call.on('cancelled', () => this.#cancel());
  }

  /** Items received so far. */
  get itemCount(): number {
    return this.#received;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Throws if the item exceeds a limit. */
  receive(item: unknown): void {
    const { bytesOf, settings } = this.#method;
    const { maxItems, maxBytes } = settings;
    if (this.#received >= maxItems) throw limitError(`more than ${maxItems} items`);
    if (maxBytes !== Number.POSITIVE_INFINITY) this.#bytes += bytesOf(item);
    if (this.#bytes > maxBytes) throw limitError(`more than ${maxBytes} bytes of items`);
    this.#items.push(item);
    this.#received += 1;
    settings.onItem?.(item, this.#context);
  }

  /** Runs the method. Rejects if the method fails, exceeds its timeout or returns the wrong number of results. */
  async execute(): Promise<BatchedResults<unknown>> {
    const { name, handler, settings } = this.#method;
    settings.onExecute?.(this.#items, this.#context);
    const expected = this.#received;
    const results: unknown = await this.#withTimeout(handler(this.#items, this.#context));
    if (!Array.isArray(results)) {
      const got = results === null ? 'null' : typeof results;
      throw badResult(
        `"${name}" was expected to return an array of ${expected} results, and returned ${got}.`,
      );
    }
    if (results.length !== expected) {
      throw badResult(
        `"${name}" was expected to return ${expected} results, one per item, and returned ${results.length}.`,
      );
    }
    return results.map((result: unknown, index) =>
      result === undefined || result === null
        ? badResult(`"${name}" returned ${result} for item ${index}: expected an answer or an Error.`)
        : result,
    );
  }

  /** Called when sending starts. `error` returns the serialization error if the call ends before all answers are sent. */
  sending(error: () => Error | undefined): void {
    this.#serializationError = error;
  }

  /** All answers were sent. */
  finish(failedItems: number): void {
    this.#end({ status: STATUS.OK, message: '', items: this.#received, failedItems });
  }

  /** The error was sent. */
  fail(error: unknown): void {
    const { code, details } = batchedStatus(error);
    this.#end({ status: code, message: details, items: this.#received, failedItems: 0 });
  }

  #end(end: BatchEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    runHook(() => this.#method.settings.onFinish?.(end, this.#context));
  }

  #cancel(): void {
    if (this.#isEnded) return;
    const error = this.#serializationError();
    if (error !== undefined) {
      this.fail(error);
      return;
    }
    this.#isEnded = true;
    const reason = 'The call was cancelled or its deadline exceeded.';
    this.#abort.abort(new BatchwiseError('CANCELLED', reason));
    runHook(() => this.#method.settings.onCancel?.(this.#context));
  }

  async #withTimeout<Value>(work: Value | PromiseLike<Value>): Promise<Value> {
    const { handlerTimeoutMs, clock } = this.#method.settings;
    if (handlerTimeoutMs === Number.POSITIVE_INFINITY) return await work;
    let timer: unknown;
    const timedOut = new Promise<never>((_, reject) => {
      timer = clock.setTimer(() => {
        const message = `"${this.#method.name}" took longer than handlerTimeoutMs, ${handlerTimeoutMs} ms.`;
        const error = new BatchwiseError('HANDLER_TIMEOUT', message);
        this.#abort.abort(error);
        reject(error);
      }, handlerTimeoutMs);
    });
    try {
      return await Promise.race([work, timedOut]);
    } finally {
      clock.clearTimer(timer);
    }
  }
}

/** The call has ended, so an error of a hook can only be reported as a warning. */
function runHook(hook: () => void): void {
  try {
    hook();
  } catch (error) {
    process.emitWarning(`A hook of serveBatched() threw ${String(error)}`, 'BatchwiseWarning');
  }
}

function dateOf(deadline: Date | number): Date | undefined {
  const time = Number(deadline);
  return Number.isFinite(time) ? new Date(time) : undefined;
}

function limitError(what: string): Error {
  return Object.assign(new Error(`The stream has ${what}, the limit of this server.`), {
    code: STATUS.RESOURCE_EXHAUSTED,
  });
}

function badResult(message: string): BatchwiseError {
  return new BatchwiseError('BAD_RESULT', message);
}
