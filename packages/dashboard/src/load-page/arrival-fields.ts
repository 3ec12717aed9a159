/** The inputs of an open model: when requests arrive, whatever the target does. */
import { element } from '../page/dom.js';
import { labelled, NumberField, select, showOnly } from './field.js';
import type { LoadSetupSchedule, LoadSetupTraffic } from './page-state.js';

type ArrivalSetup = Extract<LoadSetupTraffic, { kind: 'arrivals' }>;

const KINDS = {
  poisson: 'Poisson',
  constant: 'constant',
  gamma: 'bursty (gamma)',
  ramp: 'ramp',
  steps: 'steps',
};

export class ArrivalFields {
  readonly element: HTMLElement;
  readonly #kind = select('arrivals', KINDS);
  readonly #rate = new NumberField({ label: 'Rate, requests/s', name: 'per_second', min: 0.01 });
  readonly #variation = new NumberField({
    label: 'Coefficient of variation',
    name: 'variation',
    min: 0.01,
    hint: 'Of the gaps between arrivals: above 1, arrivals come in bursts',
  });
  readonly #from = new NumberField({ label: 'From, requests/s', name: 'from', min: 0 });
  readonly #to = new NumberField({ label: 'To, requests/s', name: 'to', min: 0 });
  readonly #over = new NumberField({ label: 'Over, s', name: 'over', min: 0.1 });
  readonly #steps = element('input', {
    type: 'text',
    name: 'steps',
    required: true,
    pattern: String.raw`\s*[\d.]+\s*:\s*[\d.]+\s*(,\s*[\d.]+\s*:\s*[\d.]+\s*)*`,
    placeholder: '100:30, 200:30',
    title: 'Requests per second, a colon, seconds; steps separated by commas: 100:30, 200:30',
  });
  readonly #maxInFlight = new NumberField({
    label: 'In-flight limit',
    name: 'max_in_flight',
    min: 1,
    isWhole: true,
    hint: 'An arrival beyond this number of requests in flight is counted as not sent',
  });
  /** Which inputs belong to which kinds. */
  readonly #places: readonly (readonly [HTMLElement, readonly string[]])[];

  constructor() {
    const steps = labelled('Steps, requests/s:seconds', this.#steps);
    this.#places = [
      [this.#rate.element, ['poisson', 'constant', 'gamma']],
      [this.#variation.element, ['gamma']],
      [this.#from.element, ['ramp']],
      [this.#to.element, ['ramp']],
      [this.#over.element, ['ramp']],
      [steps, ['steps']],
    ];
    this.element = element(
      'div',
      { className: 'fields' },
      labelled('Arrivals', this.#kind),
      ...this.#places.map(([place]) => place),
      this.#maxInFlight.element,
    );
    this.#variation.value = 2;
    this.#rate.value = 100;
    this.#from.value = 10;
    this.#to.value = 200;
    this.#over.value = 60;
    this.#maxInFlight.value = 10_000;
    this.#kind.addEventListener('change', () => this.showOnly(true));
  }

  fill({ schedule, maxInFlight }: ArrivalSetup): void {
    this.#maxInFlight.value = maxInFlight;
    if (schedule.kind === 'trace') this.#offerTrace(schedule.name);
    this.#kind.value = schedule.kind;
    if ('perSecond' in schedule) this.#rate.value = schedule.perSecond;
    if (schedule.kind === 'gamma') this.#variation.value = schedule.variation;
    if (schedule.kind === 'ramp') {
      this.#from.value = schedule.from;
      this.#to.value = schedule.to;
      this.#over.value = schedule.seconds;
    }
    if (schedule.kind === 'steps') {
      this.#steps.value = schedule.steps
        .map(({ perSecond, seconds }) => `${perSecond}:${seconds}`)
        .join(', ');
    }
  }

  showOnly(isShown: boolean): void {
    showOnly(this.element, isShown);
    for (const [place, kinds] of this.#places) showOnly(place, isShown && kinds.includes(this.#kind.value));
  }

  get body(): object {
    return { arrivals: this.#schedule(), max_in_flight: this.#maxInFlight.value };
  }

  #schedule(): object {
    const kind = this.#kind.value as LoadSetupSchedule['kind'];
    switch (kind) {
      case 'constant':
      case 'poisson':
        return { kind, per_second: this.#rate.value };
      case 'gamma':
        return { kind, per_second: this.#rate.value, variation: this.#variation.value };
      case 'ramp':
        return { kind, from: this.#from.value, to: this.#to.value, seconds: this.#over.value };
      case 'steps':
        return { kind, steps: stepsOf(this.#steps.value) };
      case 'trace':
        return { kind };
    }
  }

  /** A trace comes from the command line: the page can only play it again. */
  #offerTrace(name: string): void {
    if (this.#kind.querySelector('[value="trace"]') !== null) return;
    this.#kind.append(element('option', { value: 'trace' }, `trace ${name}`));
  }
}

function stepsOf(text: string): object[] {
  return text.split(',').map((step) => {
    const [perSecond, seconds] = step.split(':').map(Number);
    return { per_second: perSecond, seconds };
  });
}
