/** What the threads of a function and their owner say to each other. */
import type { BatchContext } from 'batchwise';
import type { WireError } from '../processes/wire-error.js';

export interface ThreadData {
  /** The module of the service. */
  readonly file: string;
  /** Of the runner. */
  readonly name: string;
}

/** What is plain data of it. */
export type SentContext = Omit<BatchContext, 'signal' | 'answer' | 'onGone' | 'answered'>;

export type ThreadRequest =
  | { readonly kind: 'run'; readonly items: unknown[]; readonly context: SentContext }
  | { readonly kind: 'abort'; readonly reason: WireError }
  | { readonly kind: 'gone'; readonly index: number };

/** Errors do not survive structured clone with their code. */
export type SentResult = { readonly result: unknown } | { readonly error: WireError };

export type ThreadReply =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'answer'; readonly index: number } & SentResult)
  | { readonly kind: 'answered' }
  | { readonly kind: 'results'; readonly results: readonly SentResult[] | undefined }
  | { readonly kind: 'failure'; readonly error: WireError };
