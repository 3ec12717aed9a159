/** Which runners there are to be: the models that are served without code, and those of the service. */
import { existsSync } from 'node:fs';
import type { RunnerSettings } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { resolveRunner } from './config/resolve-runner.js';
import type { ServerSettings } from './config/server-settings.js';
import type { Service } from './service/service.js';

/** Plain data, so that it can be sent to the process that the runner is to live in. */
export type RunnerSource =
  | { readonly kind: 'onnx'; readonly path: string }
  /** A function of the service: to be found by loading its module. */
  | { readonly kind: 'function' };

export interface PlannedRunner {
  readonly name: string;
  readonly source: RunnerSource;
  readonly settings: RunnerSettings;
}

export function runnerNames({ models }: ServerSettings, service: Service | undefined): string[] {
  return [...models.map(({ name }) => name), ...(service?.runners.keys() ?? [])];
}

export function checkModelFiles({ models }: ServerSettings): void {
  for (const { name, path } of models) {
    if (existsSync(path)) continue;
    throw new BatchwiseError(
      'INVALID_OPTION',
      `There is no file ${path}, which the model ${name} is to be loaded from.`,
    );
  }
}

export function planRunners(settings: ServerSettings, service: Service | undefined): PlannedRunner[] {
  const names = runnerNames(settings, service);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `There are two runners named ${twice}. Give the model another name: models: [{ name, path }].`,
    );
  }
  const planned = settings.models.map(({ name, path }): PlannedRunner => {
    const source = { kind: 'onnx', path } as const;
    return { name, source, settings: runnerSettings(settings, service, name) };
  });
  for (const [name, declaration] of service?.runners ?? []) {
    const source: RunnerSource =
      declaration.kind === 'onnx' ? { kind: 'onnx', path: declaration.path } : { kind: 'function' };
    planned.push({ name, source, settings: runnerSettings(settings, service, name) });
  }
  checkQueues(planned);
  return planned;
}

/** The settings of a runner as they are now: once more after the configuration has changed. */
export function runnerSettings(
  settings: ServerSettings,
  service: Service | undefined,
  name: string,
): RunnerSettings {
  const code = service?.runners.get(name)?.settings;
  return resolveRunner(settings, name, { isModel: code === undefined, code });
}

/** What is in a queue is one runner's: its workers know no other. */
function checkQueues(planned: readonly PlannedRunner[]): void {
  const owners = new Map<string, string>();
  for (const { name, source, settings } of planned) {
    const { queue, url, payload } = settings.redis;
    if (queue === undefined) continue;
    const place = JSON.stringify([url, queue]);
    const owner = owners.get(place);
    if (owner !== undefined) {
      throw new BatchwiseError(
        'INVALID_OPTION',
        `The runners ${owner} and ${name} have the same queue in Redis, ${queue}. Give each one its own: runners.${name}.redis.queue.`,
      );
    }
    owners.set(place, name);
    if (source.kind === 'onnx' && payload === 'json') {
      throw new BatchwiseError(
        'INVALID_OPTION',
        `runners.${name}.redis.payload: expected msgpack, or none, because ${name} is a model: JSON has no place for tensors.`,
      );
    }
  }
}
