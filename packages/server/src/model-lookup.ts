/** Finds the model that a request names, by whichever protocol, or says why there is none to be had. */
import { type ModelRunner, quoted, quotedList, type Signature } from '@batchwise/runners';
import { RequestError } from './request-error.js';

export type Models = ReadonlyMap<string, ModelRunner>;

/** Models have one version: a change of the model is a change of the deployment. Both protocols want a number. */
export const MODEL_VERSION = '1';

/** What errors call the places where a request names the model. Those of a path need no name. */
export interface ModelPlaces {
  readonly name: string;
  readonly version: string;
}

/** A version that is empty, or not there, leaves the choice to the server. */
export function findModel(
  models: Models,
  name: string,
  version: string | undefined,
  places?: ModelPlaces,
): ModelRunner {
  const runner = models.get(name);
  if (runner === undefined) {
    const others = models.size === 0 ? 'has none' : `has ${quotedList(models.keys())}`;
    const message = `There is no model ${quoted(name)}; this server ${others}.`;
    throw new RequestError('NOT_FOUND', message, at(places?.name));
  }
  if (version !== undefined && version !== '' && version !== MODEL_VERSION) {
    const message = `There is no version ${quoted(version)} of the model ${quoted(name)}; it has "${MODEL_VERSION}".`;
    throw new RequestError('NOT_FOUND', message, at(places?.version));
  }
  return runner;
}

/** Throws unless it can be asked now. One that was loaded and is away says itself why, and when to come again. */
export function checkReady({ name, state, signature }: ModelRunner, places?: ModelPlaces): void {
  if (state === 'ready' || (state === 'failed' && signature !== undefined)) return;
  throw notReady(name, REASONS[state], places);
}

/** What the model takes and gives, if that is known. */
export function knownSignature({ name, state, signature }: ModelRunner, places?: ModelPlaces): Signature {
  if (signature !== undefined) return signature;
  throw notReady(name, REASONS[state], places);
}

const REASONS = {
  loading: 'the model is loading',
  ready: 'its inputs are not known yet',
  failed: 'the model could not be loaded',
  closed: 'the model is shut down',
} as const;

function notReady(name: string, reason: string, places: ModelPlaces | undefined): RequestError {
  return new RequestError(
    'NOT_READY',
    `The model ${quoted(name)} is not ready: ${reason}.`,
    at(places?.name),
  );
}

function at(where: string | undefined): { where?: string } {
  return where === undefined ? {} : { where };
}
