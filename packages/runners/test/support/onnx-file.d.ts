/** Writes tiny ONNX models whose outputs are their inputs. */
import type { TensorSpec } from '../../src/index.js';
/** A model that returns each `input` as `<its name>_out`. */
export declare function identityModel(inputs: readonly TensorSpec[]): Uint8Array;
