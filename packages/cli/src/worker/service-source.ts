/** One runner of a service module as the source of a worker: with its settings, without the routes. */
import {
  type DeclaredSettings,
  type FunctionDeclaration,
  functionThreads,
  loadService,
  type RunnerDeclaration,
} from '@batchwise/server';
import { Failure } from '../terminal/failure.js';
import { modelSource } from './model-source.js';
import { upstreamSource } from './upstream-source.js';
import type { BatchRule, ProcessSettings, WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export async function serviceSource(
  path: string,
  name: string,
  asked: WorkerOptions,
  note: (line: string) => void,
  processes: ProcessSettings = {},
): Promise<WorkerSource> {
  const { runners } = await loadService(path);
  const declaration = runners.get(name);
  if (declaration === undefined) {
    const names = [...runners.keys()].join(', ') || 'none';
    throw new Failure(`${path} has no runner ${JSON.stringify(name)}. It has ${names}.`);
  }
  const flag = processes.replicas === undefined ? processes.resources && 'gpu' : 'replicas';
  if (declaration.kind !== 'python' && flag !== undefined)
    throw new Failure(`--${flag} is for a Python model. The runner ${name} of ${path} is not one.`);
  // As in `serve`: a Python model receives whole batches by default.
  const settings =
    declaration.kind === 'python' ? { batchable: true, ...declaration.settings } : declaration.settings;
  checkBatchable(path, name, settings, asked);
  const options = optionsOf(settings);
  const rule = ruleOf(settings);
  if (declaration.kind === 'function') {
    const source = { ...functionOf(declaration, options), rule };
    if (!declaration.thread) return source;
    const { concurrency = 1, handlerTimeoutMs = Number.POSITIVE_INFINITY } = { ...options, ...asked };
    const limits = { threads: concurrency, timeoutMs: handlerTimeoutMs };
    const threads = functionThreads({ file: path, name, ...limits, log: note });
    await threads.load();
    return { ...source, handler: threads.handler, close: () => threads.close() };
  }
  const { maxBatchSize, concurrency } = options;
  const { batchDim, timeoutMs, warmup, upstream } = settings;
  if (declaration.kind === 'upstream') {
    const given = defined({ batchDim, timeoutMs, warmup });
    const ofUpstream = { name, upstream: upstream ?? {}, settings: given, maxBatchSize, concurrency };
    const source = await upstreamSource(ofUpstream, asked, note);
    return { ...source, options: { ...options, ...source.options }, rule };
  }
  const { isolate, python, replicas } = settings;
  // The replicas of an ONNX model are processes of a server. A worker is one process.
  const ofPython = declaration.kind === 'python' ? { ...defined({ python, replicas }), ...processes } : {};
  const given = ofPython.resources && { gpu: ofPython.resources.gpu };
  const resources = (settings.resources || given) && {
    cpu: undefined,
    gpu: [],
    ...settings.resources,
    ...given,
  };
  const { kind, path: file, object } = declaration;
  const ofModel = defined({ batchDim, isolate, timeoutMs, warmup, ...ofPython, resources });
  const model = { name, kind, file, object, settings: ofModel, maxBatchSize, concurrency };
  const source = await modelSource(model, asked, note);
  return { ...source, options: { ...options, ...source.options }, rule };
}

function functionOf(
  declaration: RunnerDeclaration,
  options: WorkerOptions,
): Pick<WorkerSource, 'handler' | 'options' | 'close'> {
  // The service has checked its types.
  const { handler, batcher } = declaration as unknown as FunctionDeclaration<unknown, unknown>;
  const { costOf, groupOf, isolate } = batcher;
  return {
    handler,
    options: {
      ...options,
      ...(costOf === undefined ? {} : { costOf }),
      ...(groupOf === undefined ? {} : { groupOf }),
      ...(isolate === undefined ? {} : { isolate }),
    },
    close: async () => {},
  };
}

/** As in `serve`: a runner gets one item at a time unless it is batchable. */
function isBatchable({ batchable = false, batching }: DeclaredSettings): boolean {
  return batchable && batching?.enabled !== false;
}

function checkBatchable(
  path: string,
  name: string,
  settings: DeclaredSettings,
  { maxBatchSize = 1 }: WorkerOptions,
): void {
  if (maxBatchSize === 1 || isBatchable(settings)) return;
  throw new Failure(
    `${path}: the runner ${name} is not batchable, so its batch size cannot be ${maxBatchSize}. Set batchable: true.`,
  );
}

function optionsOf(settings: DeclaredSettings): WorkerOptions {
  const { batching = {}, concurrency, timeoutMs } = settings;
  const { maxBatchSize, targetLatencyMs, maxWaitMs, batchSizes } = batching;
  const options = {
    maxBatchSize: isBatchable(settings) ? maxBatchSize : 1,
    batchSizes: isBatchable(settings) ? batchSizes : undefined,
    targetLatencyMs,
    maxWaitMs,
    concurrency,
    handlerTimeoutMs: timeoutMs,
  };
  return defined(options);
}

/** Without the keys that are undefined. */
function defined<T extends object>(values: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

function ruleOf({ batching = {} }: DeclaredSettings): BatchRule | undefined {
  const { policy, prefer, maxWaitMs = 10 } = batching;
  switch (policy) {
    case 'window':
      return { kind: 'window', seconds: maxWaitMs / 1000 };
    case 'greedy':
      return { kind: 'greedy' };
    default:
      return prefer === undefined && policy === undefined ? undefined : { kind: 'adaptive', prefer };
  }
}
