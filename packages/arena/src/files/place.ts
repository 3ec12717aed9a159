/** A location in the input, for error messages. */

import { didYouMean } from 'batchwise';
import { ArenaError, type ArenaErrorCode } from './arena-error.js';

export class Place {
  readonly #code: ArenaErrorCode;
  /** The input, usually the name of a file. */
  readonly #source: string;
  readonly path: string;

  constructor(code: ArenaErrorCode, source: string, path = '') {
    this.#code = code;
    this.#source = source;
    this.path = path;
  }

  key(key: string): Place {
    const isWord = /^[A-Za-z_][A-Za-z0-9_]*$/.test(key);
    const step = isWord ? `${this.path === '' ? '' : '.'}${key}` : `[${JSON.stringify(shortened(key))}]`;
    return new Place(this.#code, this.#source, `${this.path}${step}`);
  }

  index(index: number): Place {
    return new Place(this.#code, this.#source, `${this.path}[${index}]`);
  }

  /** A line, with a column if known. */
  position(line: number, column?: number): Place {
    const position = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
    return new Place(this.#code, this.#source, `${this.path}${this.path === '' ? '' : ' '}${position}`);
  }

  /** Within another file that is named here. */
  within(file: string): Place {
    return new Place(this.#code, this.#source, `${this.path} (${shortened(file)})`);
  }

  /** A column within a string value. */
  column(column: number): Place {
    return new Place(
      this.#code,
      this.#source,
      `${this.path}${this.path === '' ? '' : ' '}at column ${column}`,
    );
  }

  expected(what: string, given: unknown, hint = ''): ArenaError {
    return this.error(`expected ${what}, got ${described(given)}.${hint}`);
  }

  /** The error for a word that is not one of `known`. */
  unknown(kind: string, word: string, known: readonly string[]): ArenaError {
    const hint = didYouMean(word, known);
    return this.error(`unknown ${kind} ${quoted(word)}.${hint} Known are ${known.join(', ')}.`);
  }

  error(message: string, options?: ErrorOptions): ArenaError {
    const where = [this.#source, this.path].filter((part) => part !== '').join(': ');
    return new ArenaError(this.#code, this.path, `${where === '' ? '' : `${where}: `}${message}`, options);
  }
}

/** Untrusted text, quoted and shortened. */
export function quoted(word: string): string {
  return JSON.stringify(shortened(word));
}

function shortened(word: string): string {
  return word.length > 40 ? `${word.slice(0, 40)}…` : word;
}

function described(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `the string ${quoted(value)}`;
    case 'undefined':
      return 'nothing';
    case 'object':
      if (value === null) return 'null';
      if (!Array.isArray(value)) return 'an object';
      return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
    default:
      return String(value);
  }
}
