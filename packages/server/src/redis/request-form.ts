/** What a request to a runner looks like on its way through the queue. */
import type { RunnerSettings, RunnerSink, RunnerTicket, Signature } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';

/** Brings one item into the queue. */
export type SendItem = (item: unknown, sink: ItemSink) => RunnerTicket;

/** As a runner's sink, but what comes is what travelled. */
export interface ItemSink {
  resolve(result: unknown, stayMs: number): void;
  reject(error: Error): void;
}

export interface RequestForm<I, R> {
  readonly kind: 'model' | 'function';
  readonly platform: string;
  readonly payload: 'json' | 'msgpack';
  /** What has to be known before the first request; of a model, what it takes and gives. */
  load(): Promise<Signature | undefined>;
  /** Sends a request: as one item, or as several. Rejects the sink when it cannot be one. */
  enter(request: I, settings: RunnerSettings, sink: RunnerSink<R>, send: SendItem): RunnerTicket;
}

/** Nothing is left to cancel. */
export const SETTLED: RunnerTicket = { cancel() {} };

/** Nobody may take longer than the runner's time-out. */
export function inTime(options: EnqueueOptions | undefined, timeoutMs: number): EnqueueOptions {
  if (options?.timeoutMs === undefined) return { ...options, timeoutMs };
  return options.timeoutMs > timeoutMs ? { ...options, timeoutMs } : options;
}
