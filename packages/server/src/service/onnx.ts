import { fileURLToPath } from 'node:url';
import { shownValue } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';
import type { ModelDeclaration } from './runner-declaration.js';
import { type RunnerOptions, validRunnerOptions } from './runner-options.js';

/**
 * An ONNX model as a runner. A relative path starts at the file of the service module. The type parameters are the
 * types of a row and of its prediction:
 *
 *     iris: onnx<number[], number[]>('models/iris.onnx', { batchable: true })
 *
 * With one input and one output, these are the arrays of a row; with several, objects by name.
 */
export function onnx<Row = unknown, Prediction = unknown>(
  path: string | URL,
  options: RunnerOptions = {},
): ModelDeclaration<Row, Prediction> {
  const file = path instanceof URL ? fileURLToPath(path) : path;
  if (typeof file !== 'string' || file === '') {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `onnx(path): expected a path or a file URL, got ${shownValue(path)}.`,
    );
  }
  const settings = validRunnerOptions(`onnx(${JSON.stringify(file)}, options)`, options);
  return Object.freeze({ kind: 'onnx' as const, path: file, settings });
}
