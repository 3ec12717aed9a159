/** Changes the number of users while the run goes on. */
import { element, setText } from '../page/dom.js';
import { NumberField } from './field.js';
import type { LoadPageReport } from './page-state.js';

export class UsersDialog {
  readonly element = element('dialog', { ariaLabel: 'Edit users' });
  readonly #users = new NumberField({ label: 'Users', name: 'users', min: 0, isWhole: true });
  readonly #spawnRate = new NumberField({
    label: 'Spawn rate, users/s',
    name: 'spawn_rate',
    min: 0.01,
    hint: 'Users that are started, or stopped, per second',
  });
  readonly #error = element('p', { className: 'error', role: 'alert' });

  /** `apply` throws with the reason when the server refuses. */
  constructor(apply: (body: object) => Promise<void>) {
    const cancel = element('button', { type: 'button' }, 'Cancel');
    const form = element(
      'form',
      { className: 'form' },
      element('h2', {}, 'Edit users'),
      element('div', { className: 'fields' }, this.#users.element, this.#spawnRate.element),
      element(
        'div',
        { className: 'buttons' },
        element('button', { type: 'submit', className: 'primary' }, 'Apply'),
        cancel,
      ),
      this.#error,
    );
    this.element.append(form);
    cancel.addEventListener('click', () => this.element.close());
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#submit(apply);
    });
  }

  open({ traffic }: LoadPageReport): void {
    if (traffic.kind !== 'users') return;
    this.#users.value = traffic.users;
    this.#spawnRate.value = traffic.spawnRate;
    setText(this.#error, '');
    this.element.showModal();
  }

  async #submit(apply: (body: object) => Promise<void>): Promise<void> {
    try {
      await apply({ users: this.#users.value, spawn_rate: this.#spawnRate.value });
      this.element.close();
    } catch (error) {
      setText(this.#error, (error as Error).message);
    }
  }
}
