/**
 * Backends with a batcher each: a function, a model on its own threads, or an upstream.
 *
 *     import { createModelRunner, DEFAULT_RUNNER_SETTINGS, OnnxModel, predictor } from '@batchwise/runners';
 *
 *     const settings = { ...DEFAULT_RUNNER_SETTINGS, batchable: true };
 *     const runner = createModelRunner({ name: 'iris', model: new OnnxModel({ file: 'models/iris.onnx' }), settings });
 *     await runner.ready;
 *     console.log(await predictor(runner).predict([6.5, 3.2, 5.1, 2.0])); // three probabilities
 *     await runner.close();
 */

export { rowDimOf, whyNotBatchable } from './batch-dim.js';
export { checkRequest } from './check-request.js';
export {
  DATATYPES,
  elementCount,
  isDatatype,
  newData,
} from './datatype.js';
export { setElement } from './element.js';
export { type ErrorCodec, type ErrorData, errorCodec, type SpecialErrors } from './error-data.js';
export { float16Value } from './float16.js';
export { createFunctionRunner, type FunctionBackend, type FunctionRunnerOptions } from './function-runner.js';
export { jsonTextsOf, tensorOfJson } from './json-elements.js';
export {
  createModelHandler,
  type ModelBatching,
  type ModelHandler,
  type ModelHandlerOptions,
} from './model-handler.js';
export { ModelRows } from './model-rows.js';
export { createModelRunner, type ModelRunnerOptions } from './model-runner.js';
export { OnnxModel, type OnnxModelOptions } from './onnx-model.js';
export { BINARY_HEADER, BinaryTail, jsonLength } from './open-inference/binary-tail.js';
export { isLong } from './open-inference/elements-from-json.js';
export { countNonFinite, elementsToJson } from './open-inference/elements-to-json.js';
export type {
  InferRequestMessage,
  InferResponseMessage,
  TensorMessage,
} from './open-inference/infer-message.js';
export {
  type InferRequestFields,
  readInferRequest,
  writeInferRequest,
} from './open-inference/infer-request-message.js';
export {
  type InferResponseFields,
  readInferResponse,
  tensorsOfResponse,
  writeInferResponse,
} from './open-inference/infer-response-message.js';
export { isJsonObject, JsonBody, type JsonObject } from './open-inference/json-body.js';
export {
  type HttpMessage,
  type JsonInferRequestFields,
  jsonInferRequest,
} from './open-inference/json-infer-request.js';
export { checkJsonSize, type JsonLimits } from './open-inference/json-size.js';
export { MessageError } from './open-inference/message-error.js';
export { signatureOfJson } from './open-inference/metadata-message.js';
export { decodeRaw, encodeRaw } from './open-inference/raw-tensor.js';
export { quoted, quotedList, shownValue } from './open-inference/shown-value.js';
export {
  type JsonPlace,
  type JsonTensor,
  placeAt,
  tensorFromFlatJson,
  tensorFromNestedJson,
} from './open-inference/tensor-from-json.js';
export { decodeTyped } from './open-inference/typed-contents.js';
export { type InferOptions, type Predictor, predictor } from './predictor.js';
export { PythonModel, type PythonModelOptions } from './python/python-model.js';
export {
  type NamedTensorData,
  type RequestData,
  type ResultData,
  requestToData,
  resultFromData,
} from './request-data.js';
export type {
  Availability,
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
  type RedisSettings,
  type ResourceSettings,
  type RunnerSettings,
  type UpstreamSettings,
} from './runner-settings.js';
export { specOfRows } from './spec-of-rows.js';
export { enterInParts, type PartsRule } from './split-request.js';
export type { Datatype, Signature, Tensor, TensorData, TensorSpec, Tensors } from './tensor.js';
export type { InferCall, TensorModel } from './tensor-model.js';
export type { HandlerModule, ThreadData } from './threads/thread-messages.js';
export { WorkerPool, type WorkerPoolOptions, workerPool } from './threads/worker-pool.js';
export { WorkerThreads, type WorkerThreadsOptions } from './threads/worker-threads.js';
export { type CopyProblem, copyProblem } from './upstream/copy-problem.js';
export { createUpstream, type Upstream, type UpstreamOptions } from './upstream/create-upstream.js';
export { createUpstreamRunner, type UpstreamRunnerOptions } from './upstream/create-upstream-runner.js';
export {
  isUrl,
  nameOfUpstream,
  parseUpstream,
  shownUrl,
  UPSTREAM_FORMS,
  type UpstreamAddress,
} from './upstream/upstream-address.js';
export { WatchedState } from './watched-state.js';
