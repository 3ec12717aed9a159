/** Tabs, by pointer and by keyboard: arrow keys, Home and End move between them (WAI-ARIA, tabs pattern). */
import { element } from '../page/dom.js';

export interface Tab {
  readonly name: string;
  readonly panel: HTMLElement;
}

export class Tabs {
  readonly element: HTMLElement;
  readonly #tabs: readonly { readonly button: HTMLButtonElement; readonly panel: HTMLElement }[];

  constructor(label: string, tabs: readonly Tab[]) {
    this.#tabs = tabs.map(({ name, panel }) => {
      const id = name.toLowerCase().replaceAll(' ', '-');
      const button = element('button', { type: 'button', role: 'tab', id: `tab-${id}` }, name);
      button.setAttribute('aria-controls', `panel-${id}`);
      Object.assign(panel, { id: `panel-${id}`, role: 'tabpanel', tabIndex: 0 });
      panel.setAttribute('aria-labelledby', button.id);
      button.addEventListener('click', () => this.#select(button));
      return { button, panel };
    });
    const buttons = this.#tabs.map(({ button }) => button);
    const list = element('div', { className: 'tabs', role: 'tablist', ariaLabel: label }, ...buttons);
    list.addEventListener('keydown', (event) => this.#move(event));
    this.element = element('div', {}, list, ...this.#tabs.map(({ panel }) => panel));
    this.#select(buttons[0]);
  }

  #select(selected: HTMLButtonElement | undefined): void {
    for (const { button, panel } of this.#tabs) {
      const isSelected = button === selected;
      button.ariaSelected = String(isSelected);
      button.tabIndex = isSelected ? 0 : -1;
      panel.hidden = !isSelected;
    }
  }

  #move(event: KeyboardEvent): void {
    const buttons = this.#tabs.map(({ button }) => button);
    const now = buttons.findIndex((button) => button.ariaSelected === 'true');
    const to = placeAfter(event.key, now, buttons.length);
    if (to === undefined) return;
    event.preventDefault();
    this.#select(buttons[to]);
    buttons[to]?.focus();
  }
}

function placeAfter(key: string, now: number, count: number): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return (now + 1) % count;
    case 'ArrowLeft':
      return (now + count - 1) % count;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
