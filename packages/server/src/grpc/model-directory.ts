/** The models by name, and the one version that each has. */
import type { ModelRunner } from '@batchwise/runners';
import { RequestError } from '../request-error.js';
import { quoted, quotedList } from './quoted.js';

export const MODEL_VERSION = '1';

export class ModelDirectory {
  readonly #models: ReadonlyMap<string, ModelRunner>;

  constructor(models: ReadonlyMap<string, ModelRunner>) {
    this.#models = models;
  }

  /**
   * A version that is empty leaves the choice to the server. `prefix` stands before the fields `name` and
   * `version` in the message that is asked with.
   */
  find(name: string, version: string, prefix: '' | 'model_'): ModelRunner {
    const model = this.#models.get(name);
    if (!model) {
      const expected =
        this.#models.size === 0 ? 'none is served' : `expected one of ${quotedList(this.#models.keys())}`;
      throw new RequestError('NOT_FOUND', `no model ${quoted(name)}; ${expected}.`, {
        where: `${prefix}name`,
      });
    }
    if (version !== '' && version !== MODEL_VERSION) {
      throw new RequestError(
        'NOT_FOUND',
        `no version ${quoted(version)} of model ${quoted(name)}; expected ${quoted(MODEL_VERSION)} or none.`,
        { where: `${prefix}version` },
      );
    }
    return model;
  }

  /** The same, if it can be asked. */
  findReady(name: string, version: string, prefix: '' | 'model_'): ModelRunner {
    const model = this.find(name, version, prefix);
    if (model.state === 'ready') return model;
    throw new RequestError('NOT_READY', `expected model ${quoted(name)} to be ready, it is ${model.state}.`, {
      where: `${prefix}name`,
    });
  }
}
