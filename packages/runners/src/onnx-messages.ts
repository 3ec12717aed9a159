/** The messages between a model and its threads. */
import type { NumericData } from './datatype.js';
import type { Datatype, Signature } from './tensor.js';

/** BYTES are sent as strings, the type of the runtime. */
export interface SentTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: NumericData | readonly string[];
}

/** The start data of a thread. */
export interface OnnxThreadData {
  readonly file: string;
  readonly intraOpThreads: number;
  /** The GPU to use; undefined for the CPU. */
  readonly gpu: number | undefined;
}

/** One request at a time: the next is sent after the reply. */
export interface OnnxRequest {
  readonly inputs: readonly SentTensor[];
  readonly outputs: readonly string[];
}

export type OnnxReply =
  | { readonly kind: 'ready'; readonly signature: Signature }
  | Unusable
  | { readonly kind: 'answer'; readonly outputs: readonly SentTensor[] }
  | { readonly kind: 'failure'; readonly message: string };

/** Why the thread cannot serve its model. */
export interface Unusable {
  readonly kind: 'unusable';
  readonly what: 'missing' | 'runtime' | 'gpu' | 'model';
  readonly message: string;
}
