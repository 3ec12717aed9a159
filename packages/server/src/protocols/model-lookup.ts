/** Finds the model that a path names, or says why there is none to be had. */
import type { ModelRunner, Signature } from '@batchwise/runners';
import { RequestError } from '../request-error.js';
import { quoted, quotedList } from './describe-json.js';
import { MODEL_VERSION } from './model-version.js';

export type Models = ReadonlyMap<string, ModelRunner>;

/** Takes the parameters of a path with `{model}` and perhaps `{version}`. */
export function modelNamed(models: Models, params: ReadonlyMap<string, string>): ModelRunner {
  const name = params.get('model') ?? '';
  const runner = models.get(name);
  if (runner === undefined) {
    const others = models.size === 0 ? 'has none' : `has ${quotedList(models.keys())}`;
    throw new RequestError('NOT_FOUND', `There is no model ${quoted(name)}; this server ${others}.`);
  }
  const version = params.get('version');
  if (version !== undefined && version !== MODEL_VERSION) {
    throw new RequestError(
      'NOT_FOUND',
      `There is no version ${quoted(version)} of the model ${quoted(name)}; it has "${MODEL_VERSION}".`,
    );
  }
  return runner;
}

/** What the model takes and gives, if it can be asked now. */
export function readySignature(runner: ModelRunner): Signature {
  const { name, state, signature } = runner;
  if (state === 'ready' && signature !== undefined) return signature;
  throw new RequestError('NOT_READY', `The model ${quoted(name)} is not ready: ${REASONS[state]}.`);
}

const REASONS = {
  loading: 'it is loading',
  ready: 'what it takes is not known yet',
  failed: 'it could not be loaded',
  closed: 'it is shut down',
} as const;
