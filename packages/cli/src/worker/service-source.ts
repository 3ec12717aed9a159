/** One runner of a service module, as a worker runs it: with what the module says of it, and without its routes. */
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
import type { BatchRule, WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

export async function serviceSource(
  path: string,
  name: string,
  asked: WorkerOptions,
  note: (line: string) => void,
): Promise<WorkerSource> {
  const { runners } = await loadService(path);
  const declaration = runners.get(name);
  if (declaration === undefined) {
    const names = [...runners.keys()].join(', ') || 'none';
    throw new Failure(`${path} has no runner ${JSON.stringify(name)}. It has ${names}.`);
  }
  const { settings } = declaration;
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
  const { batchDim, resources, timeoutMs, warmup, upstream } = settings;
  if (declaration.kind === 'upstream') {
    const { maxBatchSize, concurrency } = options;
    const said = Object.fromEntries(
      Object.entries({ batchDim, timeoutMs, warmup }).filter(([, value]) => value !== undefined),
    );
    const elsewhere = { name, upstream: upstream ?? {}, settings: said, maxBatchSize, concurrency };
    const source = await upstreamSource(elsewhere, asked, note);
    return { ...source, options: { ...options, ...source.options }, rule };
  }
  const model = {
    name,
    file: declaration.path,
    settings: {
      ...(batchDim === undefined ? {} : { batchDim }),
      ...(resources === undefined ? {} : { resources: { cpu: undefined, gpu: [], ...resources } }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(warmup === undefined ? {} : { warmup }),
    },
    maxBatchSize: options.maxBatchSize,
    concurrency: options.concurrency,
  };
  const source = await modelSource(model, asked, note);
  return { ...source, options: { ...options, ...source.options }, rule };
}

function functionOf(
  declaration: RunnerDeclaration,
  options: WorkerOptions,
): Pick<WorkerSource, 'handler' | 'options' | 'close'> {
  // Its types are its author's business.
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

/** As in `serve`: a runner gets one item at a time unless its module says that it takes more. */
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
    `${path}: the runner ${name} is not batchable, and a batch of ${maxBatchSize} was asked for. Set batchable: true there.`,
  );
}

function optionsOf(settings: DeclaredSettings): WorkerOptions {
  const { batching = {}, concurrency, timeoutMs } = settings;
  const { maxBatchSize, maxLatencyMs, maxWaitMs, batchSizes } = batching;
  const options = {
    maxBatchSize: isBatchable(settings) ? maxBatchSize : 1,
    batchSizes: isBatchable(settings) ? batchSizes : undefined,
    targetLatencyMs: maxLatencyMs,
    maxWaitMs,
    concurrency,
    handlerTimeoutMs: timeoutMs,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
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
