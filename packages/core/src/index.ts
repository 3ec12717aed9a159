/**
 * Many callers, one item each; one batch for the backend.
 *
 *     import { Batcher } from 'batchwise';
 *
 *     const squares = new Batcher(async (numbers: number[]) => numbers.map((n) => n * n), { maxBatchSize: 64 });
 *     console.log(await Promise.all([squares.submit(2), squares.submit(3)])); // [4, 9], in one batch
 *     await squares.close();
 */
export { type AdaptiveOptions, adaptive } from './adaptive-policy.js';
export { type ArrivalEstimate, ArrivalRate } from './arrival-rate.js';
export { AsyncBatcher, type AsyncBatcherOptions, type StopOptions } from './async-batcher.js';
export { BackendLoad, type Loaded, leastLoaded } from './backend-load.js';
export { type BatchedFunction, batched } from './batched.js';
export { Batcher, type CloseOptions } from './batcher.js';
export type { EnqueueOptions, SubmitOptions } from './call-options.js';
export { type Clock, realClock } from './clock.js';
export { BATCH_CHANNEL, type BatchListener, type BatchRecord, onBatch } from './diagnostics.js';
export type { Sink, Ticket } from './entry.js';
export {
  BatchwiseError,
  type BatchwiseErrorOptions,
  ERRORS,
  type ErrorCode,
  type ErrorKind,
} from './errors.js';
export { greedy } from './greedy-policy.js';
export type { BatchContext, Handler, HandlerObject, Results } from './handler.js';
export { didYouMean, nearestWord } from './nearest-word.js';
export type { BatcherOptions, LiveOptions } from './options.js';
export type {
  CompletedBatch,
  Decision,
  Dispatch,
  Limits,
  Policy,
  QueueView,
  Reason,
  RunningWork,
  Wait,
} from './policy.js';
export { type CurveEstimate, type CurvePoint, type LearnedPoint, ServiceCurve } from './service-curve.js';
export type { BatcherStats } from './stats.js';
export { VirtualClock } from './virtual-clock.js';
export { type WindowOptions, window } from './window-policy.js';
