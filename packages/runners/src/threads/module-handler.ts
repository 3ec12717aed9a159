/** Loads the handler from a user's module, for the threads of `workerPool()`. */
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { BatchwiseError, type Handler, type HandlerObject } from 'batchwise';
import { errorCodec } from '../error-data.js';

export interface ModuleData {
  /** A file: URL. */
  readonly url: string;
  /** @default 'handler', or the default export */
  readonly exportName?: string | undefined;
}

export const errors = errorCodec();

export async function createHandler({ url, exportName }: ModuleData): Promise<Handler<unknown, unknown>> {
  const file = fileURLToPath(url);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw invalid(`there is no file ${file}`);
  const exported = await (import(url) as Promise<Record<string, unknown>>).catch((error: unknown) => {
    throw invalid(`${file} cannot be loaded: ${error instanceof Error ? error.message : error}`, error);
  });
  const found = exportName === undefined ? (exported.handler ?? exported.default) : exported[exportName];
  if (typeof found === 'function') return found as Handler<unknown, unknown>;
  const { processBatch } = (found ?? {}) as Partial<HandlerObject<unknown, unknown>>;
  if (typeof processBatch === 'function') return (items, context) => processBatch.call(found, items, context);
  const wanted =
    exportName === undefined ? "an export named 'handler' or a default export" : `'${exportName}'`;
  const names = Object.keys(exported).join(', ') || 'nothing';
  throw invalid(
    `${file}: expected ${wanted} that is a function (items, context) => results, or an object with processBatch(); it exports ${names}`,
  );
}

function invalid(what: string, cause?: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', `workerPool(file): ${what}.`, { cause });
}
