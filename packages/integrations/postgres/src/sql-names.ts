/**
 * Names in SQL text. Table and column names are quoted; names of types cannot be (`double precision`), so they
 * must match a grammar in which there is no room for anything but a type. Neither can change a statement.
 */
import { BatchwiseError } from 'batchwise';

export function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

export function quoted(option: string, name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw invalidOption(
      `${option}: expected a name (a string that is not empty), got ${JSON.stringify(name)}.`,
    );
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/** A string is split at its dots (`app.users`); a list is taken as it is. */
export function quotedTable(table: unknown): string {
  const parts: unknown[] = typeof table === 'string' ? table.split('.') : Array.isArray(table) ? table : [];
  if (parts.length === 0 || parts.length > 3) {
    throw invalidOption(
      `table: expected 'table', 'schema.table' or ['schema', 'table'], got ${JSON.stringify(table)}.`,
    );
  }
  return parts.map((part) => quoted('table', part)).join('.');
}

const NAME = '(?:[a-z_][a-z0-9_$]*|"(?:[^"\\0]|"")+")';
const SEVERAL_WORDS = 'double precision|character varying|bit varying|time(?:stamp)? with(?:out)? time zone';
const TYPE = new RegExp(
  `^(?<element>${SEVERAL_WORDS}|${NAME}(?:\\.${NAME})?)(?<dimensions>(?:\\[\\])*)$`,
  'i',
);

/** To SQL these are types of length 1, and a cast to them cuts a value off without an error. */
const LENGTH_ONE: Readonly<Record<string, string>> = {
  char: 'bpchar',
  character: 'bpchar',
  nchar: 'bpchar',
  bit: 'varbit',
};

export interface TypeName {
  readonly text: string;
  readonly isArray: boolean;
  readonly isJson: boolean;
}

export function typeName(option: string, type: unknown): TypeName {
  const match = typeof type === 'string' ? TYPE.exec(type) : null;
  const { element = '', dimensions = '' } = match?.groups ?? {};
  if (typeof type !== 'string' || match === null) {
    throw invalidOption(
      `${option}: expected the name of a type without its length, such as 'text', 'numeric', 'int4[]' or ` +
        `'app.mood', got ${JSON.stringify(type)}. PostgreSQL checks the length that the table declares.`,
    );
  }
  const plain = element.toLowerCase().replace(/^pg_catalog\./, '');
  const instead = LENGTH_ONE[plain];
  if (instead !== undefined) {
    throw invalidOption(`${option}: ${JSON.stringify(type)} has the length 1; expected '${instead}'.`);
  }
  return { text: type, isArray: dimensions !== '', isJson: plain === 'json' || plain === 'jsonb' };
}
