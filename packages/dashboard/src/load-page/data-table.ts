/** A table whose cells are updated in place, so that a selection and the scroll position stay. */
import { element, setText } from '../page/dom.js';

export interface Column<Row> {
  readonly title: string;
  readonly hint?: string;
  /** Numbers are aligned to the right, long texts wrap. @default 'number' */
  readonly kind?: 'number' | 'word' | 'long';
  text(row: Row): string;
}

export class DataTable<Row> {
  readonly element: HTMLElement;
  readonly #columns: readonly Column<Row>[];
  readonly #body = element('tbody');
  readonly #scroll: HTMLElement;
  readonly #nothing: HTMLElement;

  constructor(label: string, nothing: string, columns: readonly Column<Row>[]) {
    this.#columns = columns;
    const heads = columns.map(({ title, hint = '', kind = 'number' }) =>
      element('th', { scope: 'col', title: hint, className: kind }, title),
    );
    const table = element(
      'table',
      { className: 'data' },
      element('thead', {}, element('tr', {}, ...heads)),
      this.#body,
    );
    // Wider than a phone: it scrolls, by keyboard too.
    this.#scroll = element(
      'div',
      { className: 'scroll', role: 'region', ariaLabel: label, tabIndex: 0 },
      table,
    );
    this.#nothing = element('p', { className: 'nothing' }, nothing);
    this.element = element('div', { className: 'card' }, this.#nothing, this.#scroll);
    this.show([]);
  }

  /** The last `totals` rows are set off from the others. */
  show(rows: readonly Row[], totals = 0): void {
    this.#nothing.hidden = rows.length > 0;
    this.#scroll.hidden = rows.length === 0;
    while (this.#body.rows.length > rows.length) this.#body.deleteRow(-1);
    for (const [i, row] of rows.entries()) {
      const line = this.#body.rows[i] ?? this.#add();
      line.classList.toggle('total', i >= rows.length - totals);
      for (const [j, { text }] of this.#columns.entries()) setText(line.cells[j] as Node, text(row));
      // A long name is cut off on a phone.
      const [name] = line.cells;
      if (name !== undefined) name.title = name.textContent;
    }
  }

  #add(): HTMLTableRowElement {
    const cells = this.#columns.map(({ kind: className = 'number' }, i) => {
      return i === 0 ? element('th', { scope: 'row', className }) : element('td', { className });
    });
    const line = element('tr', {}, ...cells);
    this.#body.append(line);
    return line;
  }
}
