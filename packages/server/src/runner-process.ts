/** A process that holds one copy of a runner. Started by the supervisor. */
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

runnerProcessMain(
  async ({ name, settings, source }) => {
    const { source: kind, service: path, metrics: named } = source as RunnerProcessSource;
    metrics = new ServerMetrics({ version: VERSION, kind: 'runner', bentomlNames: named.bentomlNames });
    const service = path !== undefined && kind.kind === 'function' ? await loadService(path) : undefined;
    const log = (line: string) => console.error(line);
    const assemblyOf = (runner: string) => (metrics as ServerMetrics).assemblyOf(runner);
    const runner = makeRunner({ name, source: kind, settings }, { service, log, assemblyOf });
    metrics.watchRunner(runner, settings.batching.maxBatchSize);
    return runner;
  },
  { snapshot: () => metrics?.snapshot() ?? [] },
);
