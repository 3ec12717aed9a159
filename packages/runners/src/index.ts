export type {
  BatchTrace,
  FunctionRunner,
  InferRequest,
  ModelRunner,
  Runner,
  RunnerSink,
  RunnerState,
  RunnerTicket,
} from './runner.js';
export {
  type BatchingSettings,
  DEFAULT_RUNNER_SETTINGS,
  type ResourceSettings,
  type RunnerSettings,
} from './runner-settings.js';
export type { Datatype, Signature, Tensor, TensorData, TensorSpec, Tensors } from './tensor.js';
