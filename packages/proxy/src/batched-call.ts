/**
 * One call of a batched method, a stream or a unary one: its items, its context, the one time that the method is
 * run, and its end, of which there is exactly one.
 */
import type { EventEmitter } from 'node:events';
import { STATUS } from '@batchwise/grpc';
import type { ServerDuplexStream, ServerUnaryCall } from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import type { BatchedContext, BatchedMethod, BatchedResults } from './batched-method.js';
import type { BatchEnd, BatchedSettings } from './batched-options.js';
import { batchedStatus } from './batched-status.js';

/** What the calls of a method share. */
export interface ServedMethod {
  /** As the backend calls it, for messages. */
  readonly name: string;
  readonly handler: BatchedMethod<unknown, unknown>;
  readonly bytesOf: (item: unknown) => number;
  /** What stands for an item that has failed; throws when there is nothing that can. */
  readonly emptyAnswer: () => unknown;
  /** Throws for what is no answer of its kind. */
  readonly serialize: (answer: unknown) => Uint8Array;
  /** Set once an answer could not be sent: each is tried first from then on, so that such a one fails alone. */
  triesAnswers: boolean;
  readonly settings: BatchedSettings;
}

export type AnyServerCall = (ServerDuplexStream<unknown, unknown> | ServerUnaryCall<unknown, unknown>) &
  EventEmitter;

export class BatchedCall {
  readonly #items: unknown[] = [];
  readonly #method: ServedMethod;
  readonly #context: BatchedContext;
  readonly #abort = new AbortController();
  /** Counted apart from them, because the items are the method's to do with as it likes. */
  #received = 0;
  #bytes = 0;
  #isEnded = false;
  #whyUnsent: () => Error | undefined = () => undefined;

  constructor(method: ServedMethod, call: AnyServerCall) {
    this.#method = method;
    this.#context = {
      path: call.getPath(),
      signal: this.#abort.signal,
      metadata: call.metadata,
      deadline: dateOf(call.getDeadline()),
      peer: call.getPeer(),
    };
    // It comes after every end, also after those that are none of the caller's making.
    call.on('cancelled', () => this.#cancel());
  }

  /** Received so far. */
  get itemCount(): number {
    return this.#received;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Throws when the item is one too many. */
  receive(item: unknown): void {
    const { bytesOf, settings } = this.#method;
    const { maxItems, maxBytes } = settings;
    if (this.#received >= maxItems) throw tooMuch(`more than ${maxItems} items`);
    if (maxBytes !== Number.POSITIVE_INFINITY) this.#bytes += bytesOf(item);
    if (this.#bytes > maxBytes) throw tooMuch(`more than ${maxBytes} bytes of items`);
    this.#items.push(item);
    this.#received += 1;
    settings.onItem?.(item, this.#context);
  }

  /** Runs the method on what was received; rejects when it fails, is late or has not as many results as items. */
  async execute(): Promise<BatchedResults<unknown>> {
    const { name, handler, settings } = this.#method;
    settings.onExecute?.(this.#items, this.#context);
    const expected = this.#received;
    const results: unknown = await this.#inTime(handler(this.#items, this.#context));
    if (!Array.isArray(results)) {
      const got = results === null ? 'null' : typeof results;
      throw badResult(
        `"${name}" was expected to return an array of ${expected} results, and returned ${got}.`,
      );
    }
    if (results.length !== expected) {
      throw badResult(
        `"${name}" was expected to return ${expected} results, one an item, and returned ${results.length}.`,
      );
    }
    return results.map((result: unknown, index) =>
      result === undefined || result === null
        ? badResult(`"${name}" returned ${result} for item ${index}: expected an answer or an Error.`)
        : result,
    );
  }

  /** Its answers are being sent. Asked when it ends before that: undefined when that is none of the answers' fault. */
  sends(whyUnsent: () => Error | undefined): void {
    this.#whyUnsent = whyUnsent;
  }

  /** The answers are sent, with so many errors among them. */
  finish(failedItems: number): void {
    this.#end({ status: STATUS.OK, message: '', items: this.#received, failedItems });
  }

  /** The error is sent. */
  fail(error: unknown): void {
    const { code, details } = batchedStatus(error);
    this.#end({ status: code, message: details, items: this.#received, failedItems: 0 });
  }

  #end(end: BatchEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    quietly(() => this.#method.settings.onFinish?.(end, this.#context));
  }

  #cancel(): void {
    if (this.#isEnded) return;
    const fault = this.#whyUnsent();
    if (fault !== undefined) {
      this.fail(fault);
      return;
    }
    this.#isEnded = true;
    const reason = 'The caller is gone, or its deadline has passed: nobody waits for the answers.';
    this.#abort.abort(new BatchwiseError('CANCELLED', reason));
    quietly(() => this.#method.settings.onCancel?.(this.#context));
  }

  async #inTime<Value>(work: Value | PromiseLike<Value>): Promise<Value> {
    const { handlerTimeoutMs, clock } = this.#method.settings;
    if (handlerTimeoutMs === Number.POSITIVE_INFINITY) return await work;
    let timer: unknown;
    const late = new Promise<never>((_, reject) => {
      timer = clock.setTimer(() => {
        const message = `"${this.#method.name}" took longer than handlerTimeoutMs, ${handlerTimeoutMs} ms.`;
        const error = new BatchwiseError('HANDLER_TIMEOUT', message);
        this.#abort.abort(error);
        reject(error);
      }, handlerTimeoutMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clock.clearTimer(timer);
    }
  }
}

/** The call is over, so there is nobody whom the error of a hook could still be told. */
function quietly(hook: () => void): void {
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

function tooMuch(what: string): Error {
  return Object.assign(new Error(`The stream has ${what}, which is the most that this server takes.`), {
    code: STATUS.RESOURCE_EXHAUSTED,
  });
}

function badResult(message: string): BatchwiseError {
  return new BatchwiseError('BAD_RESULT', message);
}
