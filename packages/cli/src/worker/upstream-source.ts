/**
 * An upstream, as a worker calls it: a batch of the queue is one message to it. A model takes rows, or requests of a
 * server, as one of a file does; anything else takes items.
 */
import { createUpstream, type UpstreamSettings } from '@batchwise/runners';
import { modelOfWorker, type RunnerOfWorker, settingsOfWorker } from './runner-of-worker.js';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export interface UpstreamOfWorker extends RunnerOfWorker {
  readonly upstream: Partial<UpstreamSettings>;
}

/** Reached, and warm. */
export async function upstreamSource(
  { upstream, ...said }: UpstreamOfWorker,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const { name } = said;
  const settings = settingsOfWorker(said, asked, upstream);
  const made = createUpstream({ name, settings, log: note });
  if (made.kind === 'function') {
    const { handler, backend, isolate } = made;
    try {
      await backend.load();
    } catch (error) {
      await backend.close();
      throw error;
    }
    const { concurrency, batching } = settings;
    return {
      handler,
      options: { maxBatchSize: batching.maxBatchSize, concurrency, isolate },
      rule: undefined,
      availability: backend.availability,
      close: () => backend.close(),
    };
  }
  const { model } = made;
  return modelOfWorker(name, { name, model, settings }, note);
}
