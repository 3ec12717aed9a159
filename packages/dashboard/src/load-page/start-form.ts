/** What a run needs: where requests go, the traffic, how long, and the latency that counts as good. */
import { element, setText } from '../page/dom.js';
import { ArrivalFields } from './arrival-fields.js';
import { labelled, NumberField } from './field.js';
import type { LoadSetup } from './page-state.js';
import { UsersFields } from './users-fields.js';

export class StartForm {
  readonly element: HTMLFormElement;
  readonly #url = element('input', {
    type: 'url',
    name: 'url',
    spellcheck: false,
    required: true,
    maxLength: 2048,
  });
  readonly #urlLabel = labelled('URL', this.#url);
  readonly #scenario = element('p', { className: 'facts' });
  readonly #closed = element('input', { type: 'radio', name: 'model', value: 'users', checked: true });
  readonly #open = element('input', { type: 'radio', name: 'model', value: 'arrivals' });
  readonly #users = new UsersFields();
  readonly #arrivals = new ArrivalFields();
  readonly #seconds = new NumberField({
    label: 'Duration, s',
    name: 'seconds',
    min: 1,
    isOptional: true,
    placeholder: 'until stopped',
  });
  readonly #target = new NumberField({
    label: 'Target latency, ms',
    name: 'target_latency_ms',
    min: 0.01,
    isOptional: true,
    placeholder: 'none',
    hint: 'Goodput counts the responses within this time of their intended start',
  });
  readonly #start = element('button', { type: 'submit', className: 'primary' }, 'Start');
  readonly #error = element('p', { className: 'error', role: 'alert' });

  /** `start` throws with the reason when the server refuses. */
  constructor(start: (body: object) => Promise<void>) {
    this.element = element(
      'form',
      { className: 'card form', ariaLabel: 'New run' },
      element('h2', {}, 'New run'),
      element('div', { className: 'fields wide' }, this.#urlLabel),
      this.#scenario,
      this.#models(),
      this.#users.element,
      this.#arrivals.element,
      element('div', { className: 'fields' }, this.#seconds.element, this.#target.element),
      element('div', { className: 'buttons' }, this.#start),
      this.#error,
    );
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#submit(start);
    });
    this.#showModel();
  }

  fill({ work, traffic, seconds, targetLatencyMs }: LoadSetup): void {
    const isScenario = work.kind === 'scenario';
    setText(this.#urlLabel.firstElementChild as Node, isScenario ? 'Host' : 'URL');
    this.#url.required = !isScenario;
    this.#url.value = isScenario ? (work.host ?? '') : work.url;
    setText(this.#scenario, isScenario ? `The tasks of ${work.file}` : '');
    this.#scenario.hidden = !isScenario;
    this.#closed.checked = traffic.kind === 'users';
    this.#open.checked = traffic.kind === 'arrivals';
    if (traffic.kind === 'users') this.#users.fill(traffic);
    else this.#arrivals.fill(traffic);
    this.#seconds.value = seconds;
    this.#target.value = targetLatencyMs;
    this.#showModel();
  }

  showStarting(isStarting: boolean): void {
    this.#start.disabled = isStarting;
    setText(this.#start, isStarting ? 'Starting …' : 'Start');
  }

  #models(): HTMLElement {
    for (const radio of [this.#closed, this.#open]) {
      radio.addEventListener('change', () => this.#showModel());
    }
    return element(
      'fieldset',
      { className: 'choices' },
      element('legend', {}, 'Traffic'),
      element('label', {}, this.#closed, ' Users (closed model)'),
      element('label', {}, this.#open, ' Arrival rate (open model)'),
    );
  }

  #showModel(): void {
    this.#users.showOnly(this.#closed.checked);
    this.#arrivals.showOnly(this.#open.checked);
  }

  async #submit(start: (body: object) => Promise<void>): Promise<void> {
    const traffic = this.#closed.checked ? this.#users.body : this.#arrivals.body;
    this.showStarting(true);
    setText(this.#error, '');
    try {
      await start({
        ...(this.#url.value !== '' && { url: this.#url.value }),
        ...traffic,
        seconds: this.#seconds.value,
        target_latency_ms: this.#target.value,
      });
    } catch (error) {
      setText(this.#error, (error as Error).message);
    } finally {
      this.showStarting(false);
    }
  }
}
