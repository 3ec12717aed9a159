/** Which runners there are to be: the models that are served without code, and those of the service. */
import { existsSync } from 'node:fs';
import { isUrl, type RunnerSettings, shownUrl } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { resolveRunner } from './config/resolve-runner.js';
import type { ServerSettings } from './config/server-settings.js';
import { pythonReference } from './python-reference.js';
import { servesModel } from './serves-model.js';
import type { Service } from './service/service.js';

/** Plain data, so that it can be sent to the process that the runner is to live in. */
export type RunnerSource =
  | { readonly kind: 'onnx'; readonly path: string }
  | { readonly kind: 'python'; readonly path: string; readonly object: string | undefined }
  /** Elsewhere, as `settings.upstream` says. */
  | { readonly kind: 'upstream' }
  /** A function of the service: to be found by loading its module. */
  | { readonly kind: 'function' };

export interface PlannedRunner {
  readonly name: string;
  readonly source: RunnerSource;
  readonly settings: RunnerSettings;
}

/** Whether a runner needs processes of its own. The replicas of a Python model are processes anyway. */
export function needsProcesses({ source, settings }: Pick<PlannedRunner, 'source' | 'settings'>): boolean {
  return source.kind !== 'python' && settings.replicas > 1;
}

/** The files of Python models. */
export function pythonFiles(planned: readonly PlannedRunner[]): string[] {
  return planned.flatMap(({ source }) => (source.kind === 'python' ? [source.path] : []));
}

export function runnerNames(settings: ServerSettings, service: Service | undefined): string[] {
  const named = settings.models.map(({ name }) => name);
  return [...named, ...(service?.runners.keys() ?? []), ...upstreamNames(settings, service)];
}

/** Runners that are nothing but an upstream: to be called so in the settings is all it takes. */
function upstreamNames({ models, runners }: ServerSettings, service: Service | undefined): string[] {
  const names: string[] = [];
  for (const [name, { upstream }] of runners.byName) {
    const isElsewhere = (upstream?.url ?? []).length > 0;
    const isKnown = models.some((model) => model.name === name) || service?.runners.has(name) === true;
    if (isElsewhere && !isKnown) names.push(name);
  }
  return names;
}

export function checkModelFiles({ models }: ServerSettings): void {
  for (const { name, path } of models) {
    if (isUrl(path)) continue;
    const file = pythonReference(path)?.file ?? path;
    if (existsSync(file)) continue;
    throw new BatchwiseError('INVALID_OPTION', `There is no file ${file} for the model ${name}.`);
  }
}

export function planRunners(settings: ServerSettings, service: Service | undefined): PlannedRunner[] {
  const names = runnerNames(settings, service);
  const twice = settings.models.find(({ name }) => service?.runners.has(name));
  if (twice !== undefined) {
    const { name, path } = twice;
    throw new BatchwiseError(
      'INVALID_OPTION',
      `There are two runners named ${name}: the model ${isUrl(path) ? shownUrl(path) : path}, and a runner of ` +
        `${settings.service ?? 'the service'}. Give the model another name: models: [{ name, path }].`,
    );
  }
  const planned = names.map((name): PlannedRunner => {
    const own = runnerSettings(settings, service, name);
    return { name, source: sourceOf(settings, service, name, own), settings: own };
  });
  checkPlaces(planned, service);
  checkQueues(planned);
  return planned;
}

/** What is set as its upstream goes before what it would be here. */
function sourceOf(
  { models }: ServerSettings,
  service: Service | undefined,
  name: string,
  { upstream }: RunnerSettings,
): RunnerSource {
  if (upstream.url.length > 0) return { kind: 'upstream' };
  const model = models.find((candidate) => candidate.name === name);
  const declaration = service?.runners.get(name);
  if (model !== undefined) {
    const reference = pythonReference(model.path);
    if (reference === undefined) return { kind: 'onnx', path: model.path };
    return { kind: 'python', path: reference.file, object: reference.object };
  }
  switch (declaration?.kind) {
    case 'onnx':
      return { kind: 'onnx', path: declaration.path };
    case 'python':
      return { kind: 'python', path: declaration.path, object: declaration.object };
    default:
      return { kind: 'function' };
  }
}

/** The settings of a runner as they are now: once more after the configuration has changed. */
export function runnerSettings(
  settings: ServerSettings,
  service: Service | undefined,
  name: string,
): RunnerSettings {
  const declaration = service?.runners.get(name);
  const code = declaration?.settings;
  const isBatchable = declaration === undefined || declaration.kind === 'python';
  const resolved = resolveRunner(settings, name, { isBatchable, code });
  const path = settings.models.find((model) => model.name === name)?.path;
  if (path === undefined || !isUrl(path) || resolved.upstream.url.length > 0) return resolved;
  return Object.freeze({ ...resolved, upstream: Object.freeze({ ...resolved.upstream, url: [path] }) });
}

/** A runner is in one place. */
function checkPlaces(planned: readonly PlannedRunner[], service: Service | undefined): void {
  for (const { name, settings } of planned) {
    if (!servesModel(service?.runners.get(name), settings) && !service?.runners.has(name)) {
      throw new BatchwiseError(
        'INVALID_OPTION',
        `runners.${name}.upstream: ${shownUrl(settings.upstream.url[0] ?? '')} is a function, and only a service can call it: ` +
          `runners: { ${name}: upstream('…') } in its module. Expected grpc://host:port/model, ` +
          'http://host:port/v2/models/model or unix:///run/model.sock, which need no service.',
      );
    }
    if (settings.redis.queue === undefined || settings.upstream.url.length === 0) continue;
    throw new BatchwiseError(
      'INVALID_OPTION',
      `runners.${name}: expected either redis.queue or upstream, got both. Workers can call the upstream: ` +
        `batchwise worker ${shownUrl(settings.upstream.url[0] ?? '')} --queue ${settings.redis.queue}`,
    );
  }
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
        `The runners ${owner} and ${name} have the same queue in Redis, ${queue}. Set another queue: runners.${name}.redis.queue.`,
      );
    }
    owners.set(place, name);
    if ((source.kind === 'onnx' || source.kind === 'python') && payload === 'json') {
      throw new BatchwiseError(
        'INVALID_OPTION',
        `runners.${name}.redis.payload: expected msgpack, or no payload, because ${name} is a model: JSON cannot contain tensors.`,
      );
    }
  }
}
