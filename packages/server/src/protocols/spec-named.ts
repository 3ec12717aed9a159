/** Looks up an input or an output by the name that a request gives it. */
import type { TensorSpec } from '@batchwise/runners';
import { nearestWord } from '../config/nearest-word.js';
import { badRequest } from '../request-error.js';
import { quoted, quotedList } from './describe-json.js';

export function specNamed(
  name: string,
  specs: readonly TensorSpec[],
  kind: 'input' | 'output',
  where: string,
): TensorSpec {
  const spec = specs.find((candidate) => candidate.name === name);
  if (spec !== undefined) return spec;
  const names = specs.map((candidate) => candidate.name);
  const nearest = nearestWord(name, names);
  const hint = nearest === undefined ? '' : ` Did you mean ${quoted(nearest)}?`;
  throw badRequest(
    where,
    `expected an ${kind} of the model (${quotedList(names)}), got ${quoted(name)}.${hint}`,
  );
}
