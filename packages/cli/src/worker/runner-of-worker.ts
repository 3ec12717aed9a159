/** A model or an upstream as the source of a worker: its settings, and the handler of one with tensors. */
import {
  createModelHandler,
  DEFAULT_RUNNER_SETTINGS,
  type RunnerSettings,
  whyNotBatchable,
} from '@batchwise/runners';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

/** Settings of the service, or defaults. */
export interface RunnerOfWorker {
  readonly name: string;
  readonly settings?: Partial<
    Pick<
      RunnerSettings,
      'batchDim' | 'isolate' | 'python' | 'replicas' | 'resources' | 'timeoutMs' | 'warmup'
    >
  >;
  /** @default 64 */
  readonly maxBatchSize?: number | undefined;
  /** @default 1 */
  readonly concurrency?: number | undefined;
}

/** `asked` overrides the settings of the runner. */
export function settingsOfWorker(
  { settings = {}, ...own }: RunnerOfWorker,
  asked: WorkerOptions,
  upstream: Partial<RunnerSettings['upstream']> = {},
): RunnerSettings {
  const defaults = DEFAULT_RUNNER_SETTINGS;
  return {
    ...defaults,
    ...settings,
    ...(asked.handlerTimeoutMs === undefined ? {} : { timeoutMs: asked.handlerTimeoutMs }),
    resources: { ...defaults.resources, ...settings.resources },
    upstream: { ...defaults.upstream, ...upstream },
    batchable: true,
    concurrency: asked.concurrency ?? own.concurrency ?? 1,
    batching: { ...defaults.batching, maxBatchSize: asked.maxBatchSize ?? own.maxBatchSize ?? 64 },
  };
}

/** Resolves when the model is loaded and warmed up. */
export async function modelOfWorker(
  shownName: string,
  options: Parameters<typeof createModelHandler>[0],
  note: (line: string) => void,
): Promise<WorkerSource> {
  const model = await createModelHandler(options);
  const why = whyNotBatchable(model.signature, options.settings);
  if (why !== undefined) note(`${shownName}: its rows are not batched: ${why}.`);
  return {
    handler: model.handler,
    options: model.options,
    rule: undefined,
    availability: options.model.availability,
    close: () => model.close(),
  };
}
