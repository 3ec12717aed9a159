/**
 * A server from a configuration, in as many processes as that says.
 *
 *     const flags = { models: ['models/digits.onnx'] };
 *     const server = await serve({ load: (runnerNames) => loadConfig({ flags, runnerNames }) });
 *     console.log(server.address.url);
 *     await server.stop();
 */
import { BatchwiseError } from 'batchwise';
import { startManyProcesses } from './many-processes.js';
import { startOneProcess } from './one-process.js';
import { checkModelFiles, planRunners, processCount, runnerNames } from './planned-runner.js';
import type { LoadSettings, RunningServer } from './running-server.js';
import { loadService } from './service/load-service.js';

export interface ServeOptions {
  readonly load: LoadSettings;
  /** What an operator should know. On stderr unless given. */
  readonly log?: ((line: string) => void) | undefined;
  /** Ends it while it is still starting. */
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when it listens and its models are warm. */
export async function serve({
  load,
  log = (line) => console.error(line),
  signal,
}: ServeOptions): Promise<RunningServer> {
  const { settings } = load();
  const service = settings.service === undefined ? undefined : await loadService(settings.service);
  const names = runnerNames(settings, service);
  if (names.length === 0 && service === undefined) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      'There is nothing to serve: name a model (model.py, models/digits.onnx) or a service (service.ts).',
    );
  }
  checkModelFiles(settings);
  // Again, now that the runners are known: some settings can only be understood with their names.
  const loaded = load(names);
  const planned = planRunners(loaded.settings, service);
  const isOneProcess =
    loaded.settings.server.workers === 1 && planned.every((runner) => processCount(runner) === 1);
  const options = { settings: loaded.settings, planned, load, service, log, signal };
  return isOneProcess ? startOneProcess(options) : startManyProcesses(options);
}
