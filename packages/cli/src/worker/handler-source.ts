/** A module with a handler as the source of a worker. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { HandlerObject, Policy } from 'batchwise';
import { Failure, messageOf } from '../terminal/failure.js';
import type { WorkerOptions } from './worker-settings.js';
import type { WorkerSource } from './worker-source.js';

const EXAMPLE = 'export const handler = async (items) => results;';
/** Options of the worker, which a module must not set. */
const OPTIONS_OF_WORKER = ['url', 'username', 'password', 'database', 'tls', 'queue', 'clock'];

export async function handlerSource(path: string): Promise<WorkerSource> {
  const file = resolve(path);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new Failure(`There is no file ${path}.`);
  const exported = await imported(file).catch((error: unknown) => {
    throw new Failure(`${path} cannot be loaded: ${messageOf(error)}`, { cause: error });
  });
  const { handler = exported.default, options, close } = exported;
  if (!isHandler(handler)) {
    throw new Failure(
      `${path} exports no handler: ${exportsText(exported)} Expected a function (items, context) => results, or an ` +
        `object with processBatch(), as handler or as default: ${EXAMPLE}`,
    );
  }
  const { policy, ...rest } = validOptions(path, options);
  return {
    handler,
    options: rest,
    rule: policy === undefined ? undefined : { kind: 'own', policy },
    close: async () => {
      if (typeof close === 'function') await close();
    },
  };
}

async function imported(file: string): Promise<Record<string, unknown>> {
  if (!/\.[cm]?ts$/.test(file)) return import(pathToFileURL(file).href);
  // Node 20 cannot import TypeScript. The packages of this project come from here, because a second copy of them next to
  // the module would have other error classes.
  const { createJiti } = await import('jiti');
  const jiti = createJiti(import.meta.url, {
    fsCache: false,
    interopDefault: false,
    virtualModules: {
      batchwise: await import('batchwise'),
      '@batchwise/redis': await import('@batchwise/redis'),
    },
  });
  return jiti.import(file);
}

function isHandler(value: unknown): value is WorkerSource['handler'] {
  if (typeof value === 'function') return true;
  return (
    typeof (value as Partial<HandlerObject<unknown, unknown>> | null | undefined)?.processBatch === 'function'
  );
}

/** The processor checks the values. */
function validOptions(path: string, options: unknown): WorkerOptions & { readonly policy?: Policy } {
  if (options === undefined) return {};
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new Failure(`${path}: options: expected an object, such as { maxBatchSize: 64 }.`);
  }
  const { policy } = options as { policy?: Partial<Policy> | null };
  if (policy !== undefined && typeof policy?.decide !== 'function') {
    throw new Failure(
      `${path}: options: policy: expected a policy, such as adaptive(), or --policy on the command line.`,
    );
  }
  const foreign = Object.keys(options).find((key) => OPTIONS_OF_WORKER.includes(key));
  if (foreign === undefined) return options as WorkerOptions;
  throw new Failure(
    `${path}: options: ${foreign} is an option of the worker. Use --url, --queue or the environment variables.`,
  );
}

function exportsText(exported: Record<string, unknown>): string {
  const names = Object.keys(exported);
  return names.length === 0 ? 'it exports nothing.' : `it exports ${names.join(', ')}.`;
}
