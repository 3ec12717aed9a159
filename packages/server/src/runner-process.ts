/** A process that holds one copy of a runner. Started by the supervisor. */
import type { ResourceSettings } from '@batchwise/runners';
import { BatchwiseError, onBatch } from 'batchwise';
import { errorText } from './error-text.js';
import { makeRunner } from './make-runner.js';
import { ServerMetrics } from './metrics/server-metrics.js';
import type { RunnerSource } from './planned-runner.js';
import { runnerProcessMain } from './processes/runner-process-main.js';
import { loadService } from './service/load-service.js';
import { VERSION } from './version.js';

export interface RunnerProcessSource {
  readonly source: RunnerSource;
  /** The module that functions are in. */
  readonly service: string | undefined;
  readonly metrics: { readonly bentomlNames: boolean };
}

let metrics: ServerMetrics | undefined;

// To the web processes only the message goes: what the code of a service threw, and where, is told here.
onBatch(({ name, error }) => {
  if (error !== undefined && !(error instanceof BatchwiseError))
    console.error(`${name}: ${errorText(error)}`);
});

runnerProcessMain(
  async ({ name, replica, settings: told, source }) => {
    const { source: kind, service: path, metrics: named } = source as RunnerProcessSource;
    const settings = { ...told, resources: ownDevices(told.resources, replica) };
    metrics = new ServerMetrics({ version: VERSION, kind: 'runner', bentomlNames: named.bentomlNames });
    const service = path !== undefined && kind.kind === 'function' ? await loadService(path) : undefined;
    const log = (line: string) => console.error(line);
    const assemblyOf = (runner: string) => (metrics as ServerMetrics).assemblyOf(runner);
    const runner = makeRunner({ name, source: kind, settings }, { service, log, assemblyOf });
    metrics.watchRunner(runner, settings.batching.maxBatchSize);
    return runner;
  },
  {
    snapshot: () => metrics?.snapshot() ?? [],
    onConfigured: (runner, { batching }) => metrics?.watchRunner(runner, batching.maxBatchSize),
  },
);

/**
 * Of the devices that its runner may see there is nothing else to be seen here: they are counted from 0. Each
 * replica begins with another one.
 */
function ownDevices({ cpu, gpu }: ResourceSettings, replica: number): ResourceSettings {
  return { cpu, gpu: gpu.map((_, i) => (i + replica) % gpu.length) };
}
