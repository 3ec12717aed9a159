import { BoundRunner } from './bound-runner.js';
import type { BoundRunners } from './bound-runners.js';
import type { CallScope } from './call-scope.js';
import type { Predictor } from './predictor.js';
import type { RunnerDeclarations } from './runner-declaration.js';

/**
 * The `runners` of a handler. One class for a whole service, with a getter for each name: a request makes
 * one small object, and one more for each runner that its handler turns to.
 */
export function runnerBinder(
  predictors: ReadonlyMap<string, Predictor>,
): (scope: CallScope) => BoundRunners<RunnerDeclarations> {
  class Runners {
    readonly #scope: CallScope;

    constructor(scope: CallScope) {
      this.#scope = scope;
    }

    static bound(runners: Runners, predictor: Predictor): BoundRunner {
      return new BoundRunner(predictor, runners.#scope);
    }
  }
  for (const [name, predictor] of predictors) {
    Object.defineProperty(Runners.prototype, name, {
      get(this: Runners) {
        return Runners.bound(this, predictor);
      },
    });
  }
  return (scope) => new Runners(scope) as unknown as BoundRunners<RunnerDeclarations>;
}
