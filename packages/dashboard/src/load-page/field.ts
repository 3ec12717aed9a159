/** The inputs of forms, each with its label. */
import { element } from '../page/dom.js';

export interface NumberFieldOptions {
  readonly label: string;
  readonly name: string;
  readonly min: number;
  readonly hint?: string;
  /** Whole numbers only. @default false */
  readonly isWhole?: boolean;
  /** May be empty. @default false */
  readonly isOptional?: boolean;
  readonly placeholder?: string;
}

export class NumberField {
  readonly element: HTMLElement;
  readonly input: HTMLInputElement;

  constructor(options: NumberFieldOptions) {
    const { label, name, min, hint = '', isWhole = false, isOptional = false, placeholder = '' } = options;
    this.input = element('input', {
      type: 'number',
      inputMode: isWhole ? 'numeric' : 'decimal',
      name,
      min: String(min),
      step: isWhole ? '1' : 'any',
      required: !isOptional,
      placeholder,
      title: hint,
    });
    this.element = labelled(label, this.input);
  }

  /** Undefined where it is empty. */
  get value(): number | undefined {
    const value = this.input.valueAsNumber;
    return Number.isNaN(value) ? undefined : value;
  }

  set value(value: number | undefined) {
    this.input.value = value === undefined ? '' : String(value);
  }
}

export function labelled(label: string, input: HTMLElement): HTMLLabelElement {
  return element('label', { className: 'field' }, element('span', {}, label), input);
}

export function select(name: string, choices: Readonly<Record<string, string>>): HTMLSelectElement {
  const options = Object.entries(choices).map(([value, text]) => element('option', { value }, text));
  return element('select', { name }, ...options);
}

/** What is hidden is not checked and not sent. */
export function showOnly(place: HTMLElement, isShown: boolean): void {
  place.hidden = !isShown;
  for (const input of place.querySelectorAll('input, select')) {
    (input as HTMLInputElement | HTMLSelectElement).disabled = !isShown;
  }
}
