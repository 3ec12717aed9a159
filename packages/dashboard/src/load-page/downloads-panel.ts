/** The report and its figures as files. */
import { element, setText } from '../page/dom.js';
import type { Client } from './client.js';

const FILES: readonly (readonly [name: string, what: string])[] = [
  ['report.html', 'The report as one self-contained page, with plots'],
  ['report.json', 'All figures of the run'],
  ['stats.csv', "Statistics by name, with Locust's columns"],
  ['history.csv', "Every second of the run, with Locust's columns"],
  ['failures.csv', "Failures by reason, with Locust's columns"],
];

export class DownloadsPanel {
  readonly element: HTMLElement;
  readonly #error = element('p', { className: 'error', role: 'alert' });

  constructor(client: Client) {
    const items = FILES.map(([name, what]) => {
      const link = element('a', { href: `download/${name}`, download: name }, name);
      // A link sends no token.
      link.addEventListener('click', (event) => {
        event.preventDefault();
        void this.#save(client, name);
      });
      return element('li', {}, link, element('span', { className: 'facts' }, ` ${what}`));
    });
    this.element = element(
      'div',
      { className: 'card' },
      element('ul', { className: 'files' }, ...items),
      this.#error,
    );
  }

  async #save(client: Client, name: string): Promise<void> {
    setText(this.#error, '');
    try {
      const href = URL.createObjectURL(await client.download(name));
      element('a', { href, download: name }).click();
      // The browser has taken hold of it by then.
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
    } catch (error) {
      setText(this.#error, (error as Error).message);
    }
  }
}
