/** The inputs of a closed model: how many users, how fast they start, how long each pauses. */
import { element } from '../page/dom.js';
import { labelled, NumberField, select, showOnly } from './field.js';
import type { LoadSetupTraffic, LoadSetupWaitTime } from './page-state.js';

type UsersSetup = Extract<LoadSetupTraffic, { kind: 'users' }>;

export class UsersFields {
  readonly element: HTMLElement;
  readonly #users = new NumberField({ label: 'Users', name: 'users', min: 1, isWhole: true });
  readonly #spawnRate = new NumberField({
    label: 'Spawn rate, users/s',
    name: 'spawn_rate',
    min: 0.01,
    hint: 'Users that are started per second',
  });
  readonly #wait = select('wait_time', { between: 'between', constant: 'constant', pacing: 'pacing' });
  readonly #min = new NumberField({ label: 'From, s', name: 'wait_min', min: 0 });
  readonly #max = new NumberField({ label: 'To, s', name: 'wait_max', min: 0 });
  readonly #seconds = new NumberField({
    label: 'Seconds',
    name: 'wait_seconds',
    min: 0,
    hint: 'Constant: between a response and the next request. Pacing: between the starts of two requests',
  });

  constructor() {
    this.element = element(
      'div',
      { className: 'fields' },
      this.#users.element,
      this.#spawnRate.element,
      labelled('Wait time of a user', this.#wait),
      this.#min.element,
      this.#max.element,
      this.#seconds.element,
    );
    this.#users.value = 10;
    this.#spawnRate.value = 10;
    this.#min.value = 0.01;
    this.#max.value = 2;
    this.#seconds.value = 1;
    this.#wait.addEventListener('change', () => this.showOnly(true));
  }

  fill({ users, spawnRate, waitTime }: UsersSetup): void {
    this.#users.value = users;
    this.#spawnRate.value = spawnRate;
    this.#wait.value = waitTime.kind;
    if (waitTime.kind === 'between') {
      this.#min.value = waitTime.min;
      this.#max.value = waitTime.max;
    } else {
      this.#seconds.value = waitTime.seconds;
    }
  }

  showOnly(isShown: boolean): void {
    showOnly(this.element, isShown);
    const isBetween = this.#wait.value === 'between';
    showOnly(this.#min.element, isShown && isBetween);
    showOnly(this.#max.element, isShown && isBetween);
    showOnly(this.#seconds.element, isShown && !isBetween);
  }

  get body(): object {
    return {
      users: this.#users.value,
      spawn_rate: this.#spawnRate.value,
      wait_time: this.#waitTime,
    };
  }

  get #waitTime(): Partial<LoadSetupWaitTime> {
    const kind = this.#wait.value as LoadSetupWaitTime['kind'];
    if (kind === 'between') return { kind, min: this.#min.value ?? 0, max: this.#max.value ?? 0 };
    return { kind, seconds: this.#seconds.value ?? 0 };
  }
}
