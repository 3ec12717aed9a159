/** Makes a runner where it is to live. */
import {
  createFunctionRunner,
  createModelRunner,
  OnnxModel,
  type Runner,
  type Signature,
  whyNotBatchable,
} from '@batchwise/runners';
import type { PlannedRunner } from './planned-runner.js';
import type { FunctionDeclaration } from './service/runner-declaration.js';
import type { Service } from './service/service.js';

export interface RunnerSurroundings {
  readonly service: Service | undefined;
  log(line: string): void;
  /** To be told how long putting batches together and taking their results apart takes. */
  assemblyOf?(runner: string): (durationMs: number) => void;
}

export function makeRunner(
  { name, source, settings }: PlannedRunner,
  { service, log, assemblyOf }: RunnerSurroundings,
): Runner {
  if (source.kind === 'onnx') {
    const { concurrency, resources } = settings;
    const onThreadDeath = (error: Error) => log(`${name}: ${error.message}`);
    const model = new OnnxModel({ file: source.path, concurrency, resources, onThreadDeath });
    const onAssembly = assemblyOf?.(name);
    const runner = createModelRunner({ name, model, settings, ...(onAssembly && { onAssembly }) });
    runner.ready.then(
      () => {
        const why = settings.batchable ? whyNotBatchable(runner.signature as Signature, settings) : undefined;
        if (why !== undefined) log(`${name}: its requests are not put into batches: ${why}.`);
      },
      () => {}, // told by whoever waits for it
    );
    return runner as Runner;
  }
  const declaration = service?.runners.get(name);
  if (declaration?.kind !== 'function')
    throw new Error(`The service has no function named ${name} any more.`);
  // Its types are its author's business.
  const { handler, batcher } = declaration as unknown as FunctionDeclaration<unknown, unknown>;
  return createFunctionRunner<unknown, unknown>({ name, handler, settings, ...batcher });
}
