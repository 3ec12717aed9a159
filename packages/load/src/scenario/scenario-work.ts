/** The tasks of a scenario, as the work of a run in one process. */
import { randomStream } from '@batchwise/arena';
import { checkShapeStep } from '../run/check-run-spec.js';
import type { WorkContext } from '../run/create-work.js';
import type { LoadShape } from '../run/load-shape.js';
import type { Work } from '../run/work.js';
import type { LoadDefinition } from './define-load.js';
import { checkHost, loadScenario, type Scenario } from './load-scenario.js';
import { ScenarioRequests } from './scenario-requests.js';
import { ScenarioUser } from './scenario-user.js';
import { type RunnableKind, UserKinds } from './user-kinds.js';

export interface ScenarioChoice {
  readonly file: string;
  readonly host?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

export class ScenarioWork implements Work {
  readonly shape: LoadShape | undefined;
  readonly #kinds: UserKinds;
  readonly #requests: ScenarioRequests;
  readonly #context: WorkContext;
  /** Of an open model: users that run no task now. An arrival takes one, or a new one. */
  readonly #idle = new Map<RunnableKind, ScenarioUser[]>();
  #usersOfArrivals = 0;

  /** @throws {LoadError} INVALID_OPTION */
  static async load(choice: ScenarioChoice, context: WorkContext): Promise<ScenarioWork> {
    const scenario = await loadScenario(choice.file);
    if (choice.host !== undefined) checkHost(choice.host);
    return new ScenarioWork(scenario, choice, context);
  }

  constructor(scenario: Scenario, { host, tags }: ScenarioChoice, context: WorkContext) {
    const { recorder, clock, share } = context;
    this.#context = context;
    this.#kinds = new UserKinds(scenario.users, tags, scenario.fileName);
    this.#requests = new ScenarioRequests(scenario, host ?? scenario.host, recorder, clock, share);
    this.shape = scenario.shape === undefined ? undefined : shapeOf(scenario.shape, this.#requests);
  }

  get inFlight(): number {
    return this.#requests.inFlight;
  }

  get connections(): number {
    return this.#requests.connections;
  }

  prepare(): Promise<void> {
    return this.#requests.prepare();
  }

  createUser(index: number): ScenarioUser {
    const random = randomStream(this.#context.seed, `tasks of user ${index}`);
    return new ScenarioUser(this.#kinds.ofUser(index), index, random, this.#requests);
  }

  arrive(number: number, intendedAt: number, done: () => void): void {
    const random = randomStream(this.#context.seed, `task of arrival ${number}`);
    const kind = this.#kinds.atRandom(random);
    const idle = this.#idle.get(kind)?.pop();
    const user = idle ?? new ScenarioUser(kind, this.#nextUser(), random, this.#requests);
    // The choices of an arrival depend on its number only, not on which user was idle.
    user.random = random;
    const run = () =>
      user.arrive(intendedAt, () => {
        this.#rest(kind, user);
        done();
      });
    if (idle === undefined) user.start(run);
    else run();
  }

  halt(): void {
    this.#requests.halt();
  }

  release(done: () => void): void {
    const users = [...this.#idle.values()].flat();
    this.#idle.clear();
    let left = users.length;
    if (left === 0) done();
    for (const user of users) {
      user.stop(() => {
        if (--left === 0) done();
      });
    }
  }

  abandon(): void {
    this.#requests.abandon();
  }

  close(): Promise<void> {
    return this.#requests.close();
  }

  #nextUser(): number {
    const { index, count } = this.#context.share;
    return this.#usersOfArrivals++ * count + index;
  }

  #rest(kind: RunnableKind, user: ScenarioUser): void {
    const idle = this.#idle.get(kind);
    if (idle === undefined) this.#idle.set(kind, [user]);
    else idle.push(user);
  }
}

/** A shape that throws, or returns what is no step, ends the run; the failure is in the report. */
function shapeOf(shape: NonNullable<LoadDefinition['shape']>, requests: ScenarioRequests): LoadShape {
  return {
    at: (elapsedSeconds) => {
      try {
        const step = shape(elapsedSeconds);
        if (step !== null) checkShapeStep(step);
        return step;
      } catch (error) {
        requests.taskFailed('shape', error, requests.now());
        return null;
      }
    },
  };
}
