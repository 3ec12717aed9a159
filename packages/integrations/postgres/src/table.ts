/** The rows of a batch as SQL: one array parameter per column, however many rows there are. */
import { BatchwiseError } from 'batchwise';
import { Column } from './column.js';
import { invalidOption, quoted, quotedTable } from './sql-names.js';

/** `users`, `app.users`, or `['app', 'users']` for names that contain a dot. */
export type TableName = string | readonly string[];

/** The PostgreSQL type of each column: `{ name: 'text', age: 'int4' }`. */
export type ColumnTypes<Row extends object> = { readonly [Name in keyof Row]-?: string };

export interface Returning<Returned extends object> {
  /** The columns of the table that each caller gets back. */
  readonly returning: readonly (keyof Returned & string)[];
}

/** Marks a returned row with the position of the submitted row that it belongs to. */
export const POSITION = 'batchwise_position';

export class Table<Row extends object> {
  /** As it is written in SQL. */
  readonly name: string;
  readonly columns: readonly Column[];

  constructor(table: TableName, types: ColumnTypes<Row>) {
    this.name = quotedTable(table);
    const entries = typeof types === 'object' && types !== null ? Object.entries(types) : [];
    if (entries.length === 0) {
      throw invalidOption("columns: expected at least one column and its type, such as { name: 'text' }.");
    }
    this.columns = entries.map(([name, type]) => new Column(name, type));
  }

  /** `c1` for the first column: names of columns cannot clash with those in the statement. */
  alias(column: Column): string {
    return `c${this.columns.indexOf(column) + 1}`;
  }

  get aliases(): string {
    return this.columns.map((column) => this.alias(column)).join(', ');
  }

  get quotedColumns(): string {
    return this.columns.map((column) => column.quoted).join(', ');
  }

  /** A query of the submitted rows, with their positions from 1. */
  get rows(): string {
    const parameters = this.columns.map(({ parameterType }, i) => `$${i + 1}::${parameterType}`);
    const values = this.columns.map((column) => column.fromParameter(this.alias(column)));
    const unnested = `unnest(${parameters.join(', ')}) WITH ORDINALITY AS u(${this.aliases}, position)`;
    return `SELECT ${values.join(', ')}, position FROM ${unnested}`;
  }

  keyColumns(key: string | readonly string[]): readonly Column[] {
    const names = typeof key === 'string' ? [key] : key;
    if (!Array.isArray(names) || names.length === 0 || new Set(names).size < names.length) {
      throw invalidOption(
        `key: expected the name of a column or a list of names, got ${JSON.stringify(key)}.`,
      );
    }
    return names.map((name) => {
      const column = this.columns.find((known) => known.name === name);
      if (column === undefined) {
        const known = this.columns.map((known) => known.name).join(', ');
        throw invalidOption(`key: ${JSON.stringify(name)} is not in columns, which are ${known}.`);
      }
      return column;
    });
  }

  /** The row as parameters, in the order of the columns. Throws INVALID_ITEM if it cannot be one. */
  parameters(row: Row, keys: readonly Column[] = []): unknown[] {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      const came = row === null ? 'null' : Array.isArray(row) ? 'an array' : typeof row;
      throw new BatchwiseError('INVALID_ITEM', `Expected a row as an object, got ${came}.`);
    }
    for (const name of Object.keys(row)) {
      if (this.columns.some((column) => column.name === name)) continue;
      const known = this.columns.map((column) => column.name).join(', ');
      const message = `The row has a column ${JSON.stringify(name)} that is not in columns, which are ${known}.`;
      throw new BatchwiseError('INVALID_ITEM', message);
    }
    const values = row as Readonly<Record<string, unknown>>;
    return this.columns.map((column) => {
      const value = column.parameter(values[column.name]);
      if (value !== null || !keys.includes(column)) return value;
      const message = `column ${column.quoted}: expected a value, got null. NULL identifies no row.`;
      throw new BatchwiseError('INVALID_ITEM', message);
    });
  }
}

/** The quoted names of what is returned; undefined if nothing is. */
export function quotedReturning(names: unknown): readonly string[] | undefined {
  if (names === undefined) return undefined;
  if (!Array.isArray(names) || names.length === 0 || new Set(names).size < names.length) {
    throw invalidOption(`returning: expected a list of columns, each once, got ${JSON.stringify(names)}.`);
  }
  if (names.includes(POSITION)) throw invalidOption(`returning: ${POSITION} is reserved.`);
  return names.map((name) => quoted('returning', name));
}
