/**
 * An upstream as the source of a worker: a batch of the queue is one message. A model gets rows, or requests of a server,
 * like a model file; any other upstream gets items.
 */
import { createUpstream, type UpstreamSettings } from '@batchwise/runners';
import { modelOfWorker, type RunnerOfWorker, settingsOfWorker } from './runner-of-worker.js';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export interface UpstreamOfWorker extends RunnerOfWorker {
  readonly upstream: Partial<UpstreamSettings>;
}

/** Resolves when the upstream is reached and warmed up. */
export async function upstreamSource(
  { upstream, ...declared }: UpstreamOfWorker,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const { name } = declared;
  const settings = settingsOfWorker(declared, asked, upstream);
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
