/** Why requests were not successful, the most frequent reason first. */
import { element, setText } from '../page/dom.js';
import { share } from '../page/numbers.js';
import { DataTable } from './data-table.js';
import type { LoadPageFailure, LoadPageReport } from './page-state.js';

export class FailuresPanel {
  readonly element: HTMLElement;
  #requests = 0;
  readonly #table = new DataTable<LoadPageFailure>('Failures', 'No request has failed or been rejected.', [
    { title: 'Name', kind: 'word', text: ({ name }) => name },
    { title: 'Reason', kind: 'long', text: ({ reason }) => reason },
    { title: 'Kind', kind: 'word', text: ({ kind }) => kind },
    { title: 'Requests', text: ({ count }) => count.toLocaleString('en') },
    { title: 'Share', hint: 'Of all requests of the run', text: ({ count }) => share(count, this.#requests) },
  ]);
  readonly #more = element('p', { className: 'facts' });

  constructor() {
    this.element = element('div', {}, this.#table.element, this.#more);
  }

  show({ failures, total }: LoadPageReport, leftOut: number): void {
    this.#requests = total.count;
    this.#table.show(failures);
    setText(this.#more, leftOut > 0 ? `${leftOut} rarer reasons are in failures.csv.` : '');
  }
}
