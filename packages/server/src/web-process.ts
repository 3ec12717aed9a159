/** A process that answers requests; its runners are in other processes. Started by the supervisor. */

import { countersOf, type MetricsSnapshot, mergeSnapshots } from '@batchwise/metrics';
import type { RunnerSettings } from '@batchwise/runners';
import type { ServerSettings } from './config/server-settings.js';
import { processRestarts } from './metrics/process-restarts.js';
import { ServerMetrics } from './metrics/server-metrics.js';
import type { ProcessReport } from './processes/control-message.js';
import { webProcessMain } from './processes/web-process-main.js';
import { loadService } from './service/load-service.js';
import { surviveRejections } from './survive-rejections.js';
import { VERSION } from './version.js';
import { WebServer } from './web-server.js';

export interface WebProcessSettings {
  readonly settings: ServerSettings;
  readonly runners: ReadonlyMap<string, RunnerSettings>;
}

/** How long the other processes have to tell their metrics; who has not by then is shown as it was before. */
const COLLECT_MS = 1000;

const metrics = new ServerMetrics({ version: VERSION, kind: 'web' });
const log = (line: string) => console.error(line);

surviveRejections(metrics, log);

webProcessMain(
  async (runners, { settings: told, collectMetrics }) => {
    const { settings, runners: runnerSettings } = told as WebProcessSettings;
    const web = new WebServer({
      settings,
      runners,
      runnerSettings,
      service: settings.service === undefined ? undefined : await loadService(settings.service),
      metrics,
      collect: async () => asOne(await collectMetrics(COLLECT_MS)),
      log,
    });
    const detail = await web.listen();
    return { detail, drain: async () => (await web.drain(settings.server.shutdownTimeoutMs)) === 0 };
  },
  { snapshot: () => metrics.snapshot() },
);

/** All processes as one, and how often they had to be started again. */
function asOne({ snapshots, restarts }: ProcessReport): MetricsSnapshot {
  const counted = mergeSnapshots(
    snapshots.map(({ snapshot, isAlive }) =>
      isAlive ? (snapshot as MetricsSnapshot) : countersOf(snapshot as MetricsSnapshot),
    ),
  );
  return mergeSnapshots([counted, [processRestarts(restarts)]]);
}
