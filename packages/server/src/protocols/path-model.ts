/** The model that a path with `{model}`, and perhaps `{version}`, names. */
import type { ModelRunner, Signature } from '@batchwise/runners';
import { checkReady, findModel, knownSignature, type Models } from '../model-lookup.js';

export function modelNamed(models: Models, params: ReadonlyMap<string, string>): ModelRunner {
  return findModel(models, params.get('model') ?? '', params.get('version'));
}

/** What the model takes and gives, if it can be asked now. */
export function readySignature(runner: ModelRunner): Signature {
  checkReady(runner);
  return knownSignature(runner);
}
