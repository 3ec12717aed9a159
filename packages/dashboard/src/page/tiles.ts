/** A row of numbers, each with what it is. */
import { element, setText } from './dom.js';

export interface Tile {
  readonly label: string;
  readonly title?: string;
}

export class Tiles {
  readonly element = element('dl', { className: 'tiles' });
  readonly #values: HTMLElement[] = [];

  constructor(tiles: readonly Tile[]) {
    for (const { label, title = '' } of tiles) {
      const value = element('dd', {}, '–');
      this.#values.push(value);
      this.element.append(element('div', { title }, element('dt', {}, label), value));
    }
  }

  /** In the order of the tiles. */
  show(texts: readonly string[]): void {
    for (const [i, text] of texts.entries()) setText(this.#values[i] as HTMLElement, text);
  }
}
