/** A function of a service on worker threads, each of which loads the module of the service. */
import { WorkerThreads, type WorkerThreadsOptions } from '@batchwise/runners';
import { errors } from '../processes/wire-error.js';
import type { FunctionPlace } from './service-function.js';

export type FunctionThreadsOptions = FunctionPlace &
  Pick<WorkerThreadsOptions, 'threads' | 'timeoutMs' | 'log'>;

/** Threads import compiled code, also when this file runs uncompiled. */
const folder = import.meta.url.endsWith('.ts') ? '../../dist/service/' : './';
const module = new URL(`${folder}service-function.js`, import.meta.url).href;

export function functionThreads({ file, name, ...options }: FunctionThreadsOptions): WorkerThreads {
  return new WorkerThreads({ ...options, module, data: { file, name }, name, errors });
}
