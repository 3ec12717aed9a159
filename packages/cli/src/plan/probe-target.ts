/** The target of `--probe`: an ONNX model, or a JavaScript or TypeScript module with its exports checked. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Handler, HandlerObject } from 'batchwise';
import { createJiti } from 'jiti';
import { Failure, messageOf } from '../terminal/failure.js';

export interface ProbeTarget {
  readonly handler: Handler<unknown, unknown> | HandlerObject<unknown, unknown>;
  readonly makeItem: (index: number) => unknown;
  /** The maximum batch size of the target, if known. */
  readonly maxBatchSize?: number;
  /** Notes for the user about the measurement. */
  readonly notes: readonly string[];
  /** Releases resources; optional for a module. */
  close(): Promise<void>;
}

const EXAMPLE = 'export const handler = async (items) => …; export const sample = …;';

export async function loadProbeTarget(
  flag: string,
  path: string,
  maxBatchSize: number,
): Promise<ProbeTarget> {
  const file = resolve(path);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  if (!isFile) throw new Failure(`${flag}: there is no file ${path}.`);
  const cannotLoad = (error: unknown) => {
    throw new Failure(`${flag}: ${path} cannot be loaded: ${messageOf(error)}`, { cause: error });
  };
  if (/\.onnx$/i.test(file)) {
    const { loadOnnxModel } = await import('./onnx-probe.js');
    return loadOnnxModel(file, maxBatchSize).catch(cannotLoad);
  }
  if (!/\.[cm]?[jt]s$/.test(file)) {
    throw new Failure(
      `${flag}: ${path}: expected a model (model.onnx) or a module with handler and sample (handler.ts, handler.js).`,
    );
  }
  const exported = await imported(file).catch(cannotLoad);
  const { handler = exported.default, sample, close } = exported;
  if (!isHandler(handler)) {
    throw new Failure(
      `${flag}: ${path} exports no handler: a function (items) => results, as handler or as default. Expected: ${EXAMPLE}`,
    );
  }
  if (!('sample' in exported)) {
    throw new Failure(
      `${flag}: ${path} exports no sample: an item, or a function that returns one. Expected: ${EXAMPLE}`,
    );
  }
  return {
    handler,
    makeItem: typeof sample === 'function' ? (index) => sample(index) : () => sample,
    notes: [],
    close: async () => {
      if (typeof close === 'function') await close();
    },
  };
}

function imported(file: string): Promise<Record<string, unknown>> {
  if (/\.[cm]?ts$/.test(file)) {
    // Node 20 cannot import TypeScript. Without a cache on disk, because probes are rare.
    return createJiti(import.meta.url, { fsCache: false, interopDefault: false }).import(file);
  }
  return import(pathToFileURL(file).href);
}

function isHandler(value: unknown): value is ProbeTarget['handler'] {
  if (typeof value === 'function') return true;
  return (
    typeof (value as Partial<HandlerObject<unknown, unknown>> | null | undefined)?.processBatch === 'function'
  );
}
