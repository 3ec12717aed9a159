/** One column of a batch: its parameter in the statement, and the values that the driver sends for it. */
import { BatchwiseError } from 'batchwise';
import { quoted, type TypeName, typeName } from './sql-names.js';

export class Column {
  readonly name: string;
  /** As it is written in SQL. */
  readonly quoted: string;
  readonly #type: TypeName;

  constructor(name: string, type: unknown) {
    this.name = name;
    this.quoted = quoted('columns', name);
    this.#type = typeName(`columns.${name}`, type);
  }

  /**
   * `unnest` takes an array of arrays apart down to its elements. So an array travels as the text of its literal,
   * and `fromParameter` makes it an array again.
   */
  get parameterType(): string {
    return this.#type.isArray ? 'text[]' : `${this.#type.text}[]`;
  }

  fromParameter(alias: string): string {
    return this.#type.isArray ? `${alias}::${this.#type.text} AS ${alias}` : alias;
  }

  /** What the driver is given for a value. The driver converts dates, buffers, numbers and bigints itself. */
  parameter(value: unknown): unknown {
    if (value === null) return null;
    if (value === undefined) throw this.#invalid(value, 'a value, or null for NULL');
    if (!this.#type.isArray) return this.#element(value);
    if (!Array.isArray(value)) throw this.#invalid(value, 'an array');
    const elements = value.map((element) => this.#arrayElement(element));
    // The driver calls this with its own conversion, which writes an array as a literal.
    return { toPostgres: (convert: (value: unknown) => unknown) => convert(elements) };
  }

  #arrayElement(element: unknown): unknown {
    if (element === null || element === undefined) return null;
    // Of several dimensions; JSON has arrays of its own.
    if (Array.isArray(element) && !this.#type.isJson)
      return element.map((inner) => this.#arrayElement(inner));
    return this.#element(element);
  }

  #element(value: unknown): unknown {
    if (this.#type.isJson) return this.#json(value);
    if (Array.isArray(value)) throw this.#invalid(value, `no array (its type is ${this.#type.text})`);
    if (typeof value === 'function' || typeof value === 'symbol') throw this.#invalid(value, 'a value');
    const isForDriver =
      typeof value !== 'object' ||
      value === null ||
      value instanceof Date ||
      ArrayBuffer.isView(value) ||
      'toPostgres' in value;
    return isForDriver ? value : this.#json(value);
  }

  #json(value: unknown): string {
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch (cause) {
      throw this.#invalid(value, 'a value that JSON can express', cause);
    }
    if (text === undefined) throw this.#invalid(value, 'a value that JSON can express');
    return text;
  }

  #invalid(value: unknown, expected: string, cause?: unknown): BatchwiseError {
    const came = Array.isArray(value) ? 'an array' : typeof value;
    const message = `column ${this.quoted}: expected ${expected}, got ${came}.`;
    return new BatchwiseError('INVALID_ITEM', message, cause === undefined ? {} : { cause });
  }
}
