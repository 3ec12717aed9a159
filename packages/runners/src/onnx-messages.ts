/** What a model and its threads say to each other. */
import type { NumericData } from './datatype.js';
import type { Datatype, Signature } from './tensor.js';

/** Strings travel as such: that is what the runtime takes and gives. */
export interface SentTensor {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly data: NumericData | readonly string[];
}

/** What a thread is started with. */
export interface OnnxThreadData {
  readonly file: string;
  readonly intraOpThreads: number;
  /** The device to compute on; undefined for the CPU. */
  readonly gpu: number | undefined;
}

/** One at a time: the next is sent when this is answered. */
export interface OnnxRequest {
  readonly inputs: readonly SentTensor[];
  readonly outputs: readonly string[];
}

export type OnnxReply =
  | { readonly kind: 'ready'; readonly signature: Signature }
  | { readonly kind: 'unusable'; readonly what: 'runtime' | 'gpu' | 'model'; readonly message: string }
  | { readonly kind: 'answer'; readonly outputs: readonly SentTensor[] }
  | { readonly kind: 'failure'; readonly message: string };
