/** The messages between the threads of a pool and their owner. */
import type { BatchContext, Handler } from 'batchwise';
import type { ErrorCodec, ErrorData } from '../error-data.js';

export interface ThreadData {
  /** The URL of a `HandlerModule`, which every thread imports. */
  readonly module: string;
  /** The argument of `createHandler`: plain data. */
  readonly data: unknown;
  /** The name in log lines and error messages. */
  readonly name: string;
}

/** The module that a thread imports to get its handler. */
export interface HandlerModule<Data> {
  createHandler(data: Data): Promise<Handler<unknown, unknown>>;
  readonly errors: ErrorCodec;
}

/** The part of the context that is plain data. */
export type SentContext = Omit<BatchContext, 'signal' | 'answer' | 'onGone' | 'answered'>;

export type ThreadRequest =
  | { readonly kind: 'run'; readonly items: unknown[]; readonly context: SentContext }
  | { readonly kind: 'abort'; readonly reason: ErrorData }
  | { readonly kind: 'gone'; readonly index: number };

/** Errors travel as data because structured clone drops their code. */
export type SentResult = { readonly result: unknown } | { readonly error: ErrorData };

export type ThreadReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly error: ErrorData }
  | ({ readonly kind: 'answer'; readonly index: number } & SentResult)
  | { readonly kind: 'answered' }
  | { readonly kind: 'results'; readonly results: readonly SentResult[] | undefined }
  | { readonly kind: 'failure'; readonly error: ErrorData };
