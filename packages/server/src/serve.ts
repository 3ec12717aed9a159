/**
 * A server from a configuration, in as many processes as that says.
 *
 *     const flags = { models: ['models/digits.onnx'] };
 *     const server = await serve({ load: (runnerNames) => loadConfig({ flags, runnerNames }) });
 *     console.log(server.address.url);
 *     await server.stop();
 */
import { BatchwiseError } from 'batchwise';
import { durationText } from './config/kinds/duration.js';
import type { ServerSettings } from './config/server-settings.js';
import { startManyProcesses } from './many-processes.js';
import { startOneProcess } from './one-process.js';
import { checkModelFiles, needsProcesses, planRunners, pythonFiles, runnerNames } from './planned-runner.js';
import type { LoadSettings, RunningServer } from './running-server.js';
import { loadService } from './service/load-service.js';

export interface ServeOptions {
  readonly load: LoadSettings;
  /** Messages for the operator. @default stderr */
  readonly log?: ((line: string) => void) | undefined;
  /** Aborts the start. `serve()` rejects when the parts that had started have ended. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the files of the Python models before they are loaded. */
  readonly onPythonFiles?: ((files: readonly string[]) => void) | undefined;
  /**
   * Evaluates a service module in TypeScript, and the modules next to it, again. Node evaluates a module only once in
   * a process.
   * @default false
   */
  readonly isRestart?: boolean | undefined;
}

/** A longer timeout may be a number of milliseconds by mistake: `timeout: 3000` is 50 minutes. */
const LONG_TIMEOUT_MS = 600_000;

/** Resolves when the server listens and its models are warmed up. */
export async function serve({
  load,
  log = (line) => console.error(line),
  signal,
  onPythonFiles,
  isRestart = false,
}: ServeOptions): Promise<RunningServer> {
  const { settings } = load();
  const service =
    settings.service === undefined ? undefined : await loadService(settings.service, { isFresh: isRestart });
  const names = runnerNames(settings, service);
  if (names.length === 0 && service === undefined) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      'Nothing to serve: expected a model (model.py, models/digits.onnx) or a service (service.ts).',
    );
  }
  checkModelFiles(settings);
  // Again, because some settings depend on the names of the runners.
  const loaded = load(names);
  const planned = planRunners(loaded.settings, service);
  warnOfLongTimeouts(loaded.settings, log);
  onPythonFiles?.(pythonFiles(planned));
  const isOneProcess = loaded.settings.server.workers === 1 && !planned.some(needsProcesses);
  const options = { settings: loaded.settings, planned, load, service, log, signal };
  return isOneProcess ? startOneProcess(options) : startManyProcesses(options);
}

function warnOfLongTimeouts({ runners }: ServerSettings, log: (line: string) => void): void {
  const byPath = [
    ['runners', runners.all] as const,
    ...[...runners.byName].map(([name, own]) => [`runners.${name}`, own] as const),
  ];
  for (const [path, { timeoutMs = 0 }] of byPath) {
    if (timeoutMs <= LONG_TIMEOUT_MS || timeoutMs === Number.POSITIVE_INFINITY) continue;
    log(`${path}.timeout is ${durationText(timeoutMs)}. A plain number is in seconds.`);
  }
}
