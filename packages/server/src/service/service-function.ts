/** The function of a service that a worker thread runs. */
import type { Handler } from 'batchwise';
import { loadService } from './load-service.js';

export { errors } from '../processes/wire-error.js';

export interface FunctionPlace {
  /** The module of the service. */
  readonly file: string;
  /** Of the runner. */
  readonly name: string;
}

export async function createHandler({ file, name }: FunctionPlace): Promise<Handler<unknown, unknown>> {
  const declaration = (await loadService(file)).runners.get(name);
  if (declaration?.kind !== 'function') throw new Error(`${file} no longer has a function named ${name}.`);
  return declaration.handler as Handler<unknown, unknown>;
}
