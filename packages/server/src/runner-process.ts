/** A process that holds one copy of a runner. Started by the supervisor. */
import { BatchwiseError, onBatch } from 'batchwise';
import { errorText } from './error-text.js';
import { makeRunner } from './make-runner.js';
import { ServerMetrics } from './metrics/server-metrics.js';
import { ownDevice, ownDevices } from './own-devices.js';
import type { RunnerSource } from './planned-runner.js';
import { runnerProcessMain } from './processes/runner-process-main.js';
import { loadService } from './service/load-service.js';
import { surviveRejections } from './survive-rejections.js';
import { VERSION } from './version.js';

export interface RunnerProcessSource {
  readonly source: RunnerSource;
  /** The module that functions are in. */
  readonly service: string | undefined;
  readonly metrics: { readonly bentomlNames: boolean };
}

let metrics: ServerMetrics | undefined;
const log = (line: string) => console.error(line);

surviveRejections({ rejectionUnhandled: () => metrics?.rejectionUnhandled() }, log);

// To the web processes only the message goes: what the code of a service threw, and where, is told here.
onBatch(({ name, error }) => {
  if (error !== undefined && !(error instanceof BatchwiseError)) log(`${name}: ${errorText(error)}`);
});

runnerProcessMain(
  async ({ name, replica, settings: told, source }) => {
    const { source: kind, service: path, metrics: named } = source as RunnerProcessSource;
    const resources =
      kind.kind === 'python' ? ownDevice(told.resources, replica) : ownDevices(told.resources, replica);
    // This process is one of the replicas.
    const settings = { ...told, replicas: 1, resources };
    metrics = new ServerMetrics({ version: VERSION, kind: 'runner', bentomlNames: named.bentomlNames });
    const service = path !== undefined && kind.kind === 'function' ? await loadService(path) : undefined;
    const onFault = (error: Error) => log(errorText(error));
    const runner = makeRunner(
      { name, source: kind, settings },
      { service, servicePath: path, log, metrics, onFault },
    );
    metrics.watchRunner(runner, settings.batching.maxBatchSize);
    return runner;
  },
  {
    snapshot: () => metrics?.snapshot() ?? [],
    onConfigured: (runner, { batching }) => metrics?.watchRunner(runner, batching.maxBatchSize),
  },
);
