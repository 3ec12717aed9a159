/**
 * Many callers submit one item each; the backend gets batches.
 *
 *     import { Batcher } from 'batchwise';
 *
 *     const squares = new Batcher(async (numbers: number[]) => numbers.map((n) => n * n), { maxBatchSize: 64 });
 *     console.log(await Promise.all([squares.submit(2), squares.submit(3)])); // [4, 9], in one batch
 *     await squares.close();
 */

export { AsyncBatcher, type AsyncBatcherOptions, type StopOptions } from './async-batcher.js';
export type { Backend } from './backends/backend.js';
export type { BackendState } from './backends/backend-health.js';
export { BackendSet, type BackendSetOptions, type BackendStats } from './backends/backend-set.js';
export { BATCH_CHANNEL, type BatchListener, type BatchRecord, onBatch } from './batch/diagnostics.js';
export type { BatchContext, Handler, HandlerObject, Results, TypedResults } from './batch/handler.js';
export { type BatchedFunction, Batcher, batched, type CloseOptions } from './batcher.js';
export type { BatcherStats } from './dispatch/stats.js';
export { didYouMean, nearestWord } from './errors/describe.js';
export {
  BatchwiseError,
  type BatchwiseErrorOptions,
  ERRORS,
  type ErrorCode,
  type ErrorKind,
} from './errors/errors.js';
export {
  type CurveEstimate,
  type CurvePoint,
  type LearnedPoint,
  ServiceCurve,
} from './learning/service-curve.js';
export { Traffic, type TrafficEstimate } from './learning/traffic.js';
export type { EnqueueOptions, SubmitOptions } from './options/call-options.js';
export type { BackendOptions, BatcherOptions, LiveOptions } from './options/options.js';
export { type AdaptiveOptions, adaptive } from './policy/adaptive-policy.js';
export { greedy } from './policy/greedy-policy.js';
export type {
  BackendView,
  CompletedBatch,
  Decision,
  Dispatch,
  Limits,
  Policy,
  QueueView,
  Reason,
  Reject,
  RunningWork,
  Wait,
  WaitingGroup,
} from './policy/policy.js';
export { type WindowOptions, window } from './policy/window-policy.js';
export type { Sink, Ticket } from './queue/entry.js';
export { type Clock, realClock } from './time/clock.js';
export { VirtualClock } from './time/virtual-clock.js';
