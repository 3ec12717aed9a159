/**
 * An upstream, as a worker calls it: a batch of the queue is one message to it. A model takes rows, or requests of a
 * server, as one of a file does; anything else takes items.
 */
import {
  createModelHandler,
  createUpstream,
  DEFAULT_RUNNER_SETTINGS,
  type RunnerSettings,
  type UpstreamSettings,
  whyNotBatchable,
} from '@batchwise/runners';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export interface UpstreamOfWorker {
  readonly name: string;
  readonly upstream: Partial<UpstreamSettings>;
  /** What a service says of it. */
  readonly settings?: Partial<Pick<RunnerSettings, 'batchDim' | 'timeoutMs' | 'warmup'>>;
  /** @default 64 */
  readonly maxBatchSize?: number | undefined;
  /** @default 1 */
  readonly concurrency?: number | undefined;
}

/** Reached, and warm. */
export async function upstreamSource(
  { name, upstream, settings = {}, ...own }: UpstreamOfWorker,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const maxBatchSize = asked.maxBatchSize ?? own.maxBatchSize ?? 64;
  const concurrency = asked.concurrency ?? own.concurrency ?? 1;
  const runnerSettings: RunnerSettings = {
    ...DEFAULT_RUNNER_SETTINGS,
    ...settings,
    ...(asked.handlerTimeoutMs === undefined ? {} : { timeoutMs: asked.handlerTimeoutMs }),
    upstream: { ...DEFAULT_RUNNER_SETTINGS.upstream, ...upstream },
    batchable: true,
    concurrency,
    batching: { ...DEFAULT_RUNNER_SETTINGS.batching, maxBatchSize },
  };
  const made = createUpstream({ name, settings: runnerSettings, log: note });
  if (made.kind === 'function') {
    const { handler, backend, isolate } = made;
    try {
      await backend.load();
    } catch (error) {
      await backend.close();
      throw error;
    }
    return {
      handler,
      options: { maxBatchSize, concurrency, isolate },
      rule: undefined,
      availability: backend.availability,
      close: () => backend.close(),
    };
  }
  const model = await createModelHandler({ name, model: made.model, settings: runnerSettings });
  const why = whyNotBatchable(model.signature, runnerSettings);
  if (why !== undefined) note(`${name}: its rows are not put into batches: ${why}.`);
  const { handler, options } = model;
  const { availability } = made.model;
  return { handler, options, rule: undefined, availability, close: () => model.close() };
}
