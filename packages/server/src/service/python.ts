import { fileURLToPath } from 'node:url';
import { shownValue } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import { pythonReference } from '../python-reference.js';
import type { ModelDeclaration } from './runner-declaration.js';
import { type RunnerOptions, validRunnerOptions } from './runner-options.js';

export interface PythonOptions extends RunnerOptions {
  /**
   * An interpreter, or the folder of a virtual environment. Relative paths start at the file of the service module.
   * @default the active virtual environment, else `.venv` next to the model, else `python3`
   */
  readonly python?: string | undefined;
  /**
   * Python processes, each with a copy of the model.
   * @default 1
   */
  readonly replicas?: number | undefined;
  /**
   * A Python model receives whole batches, so its requests share them by default.
   * @default true
   */
  readonly batchable?: boolean | undefined;
}

/**
 * A Python model as a runner: `model.py`, or `model.py:Name` for one of several objects in the file. A relative path
 * starts at the file of the service module. The type parameters are the types of an item and of its result:
 *
 *     reviews: python<string, { label: string }>('./reviews.py', { replicas: 2 })
 */
export function python<Item = unknown, Result = unknown>(
  path: string | URL,
  options: PythonOptions = {},
): ModelDeclaration<Item, Result> {
  const given = path instanceof URL ? fileURLToPath(path) : path;
  const reference = typeof given === 'string' ? pythonReference(given) : undefined;
  if (reference === undefined) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `python(path): expected the path of a Python file (model.py, model.py:Name) or a file URL, got ${shownValue(path)}.`,
    );
  }
  const { file, object } = reference;
  const settings = validRunnerOptions(`python(${JSON.stringify(given)}, options)`, options);
  return Object.freeze({ kind: 'python' as const, path: file, object, settings });
}
