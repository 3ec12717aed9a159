/** A table of a few names, each with a bar and what it stands for. */
import { element, setText } from './dom.js';

export interface Bar {
  readonly name: string;
  readonly value: number;
  readonly text: string;
}

export class Bars {
  readonly element: HTMLElement;
  readonly #body = element('tbody');
  readonly #nothing: HTMLElement;
  readonly #rows = new Map<string, { row: HTMLElement; bar: HTMLElement; text: HTMLElement }>();

  constructor(title: string, nothing: string) {
    this.#nothing = element('p', { className: 'nothing' }, nothing);
    const table = element('table', { className: 'bars' }, this.#body);
    this.element = element('section', { className: 'card' }, element('h3', {}, title), this.#nothing, table);
  }

  show(bars: readonly Bar[]): void {
    const most = Math.max(...bars.map(({ value }) => value));
    this.#nothing.hidden = bars.length > 0;
    for (const { name, value, text } of bars) {
      const known = this.#rows.get(name) ?? this.#add(name);
      known.bar.style.width = `${most > 0 ? (100 * value) / most : 0}%`;
      setText(known.text, text);
      // In the order in which they are given.
      this.#body.append(known.row);
    }
    const names = new Set(bars.map(({ name }) => name));
    for (const [name, { row }] of this.#rows) if (!names.has(name)) row.remove();
  }

  #add(name: string) {
    const bar = element('div', { className: 'bar' });
    const text = element('td', { className: 'number' });
    const head = element('th', { scope: 'row' }, name);
    const added = { row: element('tr', {}, head, element('td', {}, bar), text), bar, text };
    this.#rows.set(name, added);
    return added;
  }
}
