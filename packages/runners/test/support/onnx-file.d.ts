/** Writes tiny ONNX models: each output is an input as it is. */
import type { TensorSpec } from '../../src/index.js';
/** A model that gives each `input` back as `<its name>_out`. */
export declare function identityModel(inputs: readonly TensorSpec[]): Uint8Array;
