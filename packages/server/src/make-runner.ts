/** Makes a runner where it is to live. */
import {
  createFunctionRunner,
  createModelRunner,
  createUpstreamRunner,
  OnnxModel,
  PythonModel,
  type Runner,
  type RunnerSettings,
  type TensorModel,
  whyNotBatchable,
} from '@batchwise/runners';
import type { ServerMetrics } from './metrics/server-metrics.js';
import type { PlannedRunner, RunnerSource } from './planned-runner.js';
import { functionForm } from './redis/function-form.js';
import { ModelForm } from './redis/model-form.js';
import { RedisRunner } from './redis/redis-runner.js';
import { functionThreads } from './service/function-threads.js';
import type { FunctionDeclaration } from './service/runner-declaration.js';
import type { Service } from './service/service.js';

export interface RunnerSurroundings {
  readonly service: Service | undefined;
  /** The module of the service, for the threads of its functions. */
  readonly servicePath: string | undefined;
  log(line: string): void;
  readonly metrics: Pick<ServerMetrics, 'assemblyOf' | 'wholesOf' | 'modelRestartsOf'>;
  /** Of the code of the service, where nobody else would tell whoever runs it. */
  onFault?(error: Error): void;
}

export function makeRunner(
  { name, source, settings }: PlannedRunner,
  { service, servicePath, log, metrics, onFault }: RunnerSurroundings,
): Runner {
  const isInRedis = settings.redis.queue !== undefined;
  if (source.kind === 'onnx' || source.kind === 'python') {
    // With a queue in Redis, the model is loaded here once, only for its signature.
    const model = modelOf(name, source, isInRedis ? { ...settings, replicas: 1, concurrency: 1 } : settings, {
      log,
      metrics,
    });
    if (isInRedis) {
      const form = new ModelForm(name, model);
      return new RedisRunner({ name, settings, form, log, env: process.env }) as Runner;
    }
    const runner = createModelRunner({
      name,
      model,
      settings,
      onAssembly: metrics.assemblyOf(name),
      onWhole: metrics.wholesOf(name),
    });
    tellIfNotBatched(runner as Runner, settings, log);
    return runner as Runner;
  }
  if (source.kind === 'upstream') {
    const runner = createUpstreamRunner({
      name,
      settings,
      log,
      onAssembly: metrics.assemblyOf(name),
      onWhole: metrics.wholesOf(name),
    });
    tellIfNotBatched(runner, settings, log);
    return runner;
  }
  const declaration = service?.runners.get(name);
  if (declaration?.kind !== 'function')
    throw new Error(`The service no longer has a function named ${name}.`);
  // Its types are its author's business.
  const { handler, batcher, thread } = declaration as unknown as FunctionDeclaration<unknown, unknown>;
  if (isInRedis) {
    const form = functionForm(settings.redis.payload);
    const { dedupeBy } = batcher;
    return new RedisRunner({ name, settings, form, dedupeBy, log, env: process.env });
  }
  const common = { name, settings, onFault, ...batcher };
  if (!thread || servicePath === undefined)
    return createFunctionRunner<unknown, unknown>({ ...common, handler });
  const { concurrency, timeoutMs } = settings;
  const threads = functionThreads({ file: servicePath, name, threads: concurrency, timeoutMs, log });
  return createFunctionRunner<unknown, unknown>({ ...common, handler: threads.handler, backend: threads });
}

function modelOf(
  name: string,
  source: Extract<RunnerSource, { kind: 'onnx' | 'python' }>,
  { python, replicas, concurrency, resources, timeoutMs }: RunnerSettings,
  { log, metrics }: Pick<RunnerSurroundings, 'log' | 'metrics'>,
): TensorModel {
  const onDeath = (error: Error) => log(`${name}: ${error.message}`);
  if (source.kind === 'onnx')
    return new OnnxModel({ file: source.path, concurrency, resources, timeoutMs, onThreadDeath: onDeath });
  const { path: file, object } = source;
  const countRestart = metrics.modelRestartsOf(name);
  return new PythonModel({
    file,
    object,
    python,
    replicas,
    concurrency,
    resources,
    timeoutMs,
    log: (line) => log(`${name}: ${line}`),
    onProcessDeath: (error) => {
      onDeath(error);
      countRestart();
    },
  });
}

function tellIfNotBatched(runner: Runner, settings: RunnerSettings, log: (line: string) => void): void {
  runner.ready.then(
    () => {
      const { name, signature } = runner;
      if (signature === undefined || !settings.batchable) return;
      const why = whyNotBatchable(signature, settings);
      if (why !== undefined) log(`${name}: requests are not batched: ${why}.`);
    },
    () => {}, // told by whoever waits for it
  );
}
