/** The user's module that `--probe` measures: loads it, TypeScript too, and looks for what it must export. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Handler, HandlerObject } from 'batchwise';
import { createJiti } from 'jiti';
import { Failure, messageOf } from '../terminal/failure.js';

export interface HandlerModule {
  readonly handler: Handler<unknown, unknown> | HandlerObject<unknown, unknown>;
  readonly makeItem: (index: number) => unknown;
  /** Gives back what the module holds; optional for it. */
  close(): Promise<void>;
}

const EXAMPLE = 'export const handler = async (items) => …; export const sample = …;';

export async function loadHandlerModule(flag: string, path: string): Promise<HandlerModule> {
  const file = resolve(path);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new Failure(`${flag}: there is no file ${path}.`);
  const exported = await imported(file).catch((error: unknown) => {
    throw new Failure(`${flag}: ${path} cannot be loaded: ${messageOf(error)}`, { cause: error });
  });
  const { handler = exported.default, sample, close } = exported;
  if (!isHandler(handler)) {
    throw new Failure(
      `${flag}: ${path} exports no handler: a function (items) => results, as handler or as default. Expected: ${EXAMPLE}`,
    );
  }
  if (!('sample' in exported)) {
    throw new Failure(
      `${flag}: ${path} exports no sample: an item to measure with, or a function that makes one. Expected: ${EXAMPLE}`,
    );
  }
  return {
    handler,
    makeItem: typeof sample === 'function' ? (index) => sample(index) : () => sample,
    close: async () => {
      if (typeof close === 'function') await close();
    },
  };
}

function imported(file: string): Promise<Record<string, unknown>> {
  if (/\.[cm]?ts$/.test(file)) {
    // Node 20 knows no TypeScript. Nothing is kept on disk: a probe is run now and then.
    return createJiti(import.meta.url, { fsCache: false, interopDefault: false }).import(file);
  }
  return import(pathToFileURL(file).href);
}

function isHandler(value: unknown): value is HandlerModule['handler'] {
  if (typeof value === 'function') return true;
  return (
    typeof (value as Partial<HandlerObject<unknown, unknown>> | null | undefined)?.processBatch === 'function'
  );
}
