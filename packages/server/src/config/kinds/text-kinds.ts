import { join } from 'node:path';
import { accept, type Kind, refuse } from '../setting-kind.js';

const MOST_CHARACTERS = 4096;

/** A text without control characters: what is printed and sent must not end a line. */
export function isFitText(value: unknown): value is string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return typeof value === 'string' && /^[^\x00-\x1f\x7f]+$/.test(value) && value.length <= MOST_CHARACTERS;
}

export function text(expected: string): Kind<string> {
  return {
    expected,
    isText: true,
    parse: (value) => (isFitText(value) && value.trim() === value ? accept(value) : refuse(expected, value)),
    write: (value) => value,
  };
}

/** Relative ones start from where they are written: the folder of the file, or the working directory. */
export function filePath(expected: string): Kind<string> {
  return {
    expected,
    isText: true,
    parse: (value, { folder }) =>
      isFitText(value) ? accept(pathFrom(folder, value)) : refuse(expected, value),
    write: (value) => value,
  };
}

/** A command on the PATH, `python3.12`, or a path as in `filePath`. */
export const pythonInterpreter: Kind<string> = {
  ...filePath('a Python interpreter or the folder of a virtual environment'),
  parse(value, { folder }) {
    if (!isFitText(value)) return refuse(this.expected, value);
    return accept(interpreterFrom(folder, value));
  },
};

export function interpreterFrom(folder: string, python: string): string {
  return /^(?:python|pypy)[\d.]*$/.test(python) ? python : pathFrom(folder, python);
}

export function pathFrom(folder: string, path: string): string {
  return folder === '' || path.startsWith('/') ? path : join(folder, path);
}

export function choice<T extends string>(...words: readonly T[]): Kind<T> {
  const expected = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return {
    expected,
    parse: (value) => (words.includes(value as T) ? accept(value as T) : refuse(expected, value)),
    write: (value) => value,
  };
}

/** The words of YAML 1.1 too: files that other tools read have them. */
const WORDS_OF_BOOLEAN: ReadonlyMap<unknown, boolean> = new Map([
  ['yes', true],
  ['on', true],
  ['no', false],
  ['off', false],
]);

export const trueOrFalse: Kind<boolean> = {
  expected: 'true or false',
  parse(value) {
    if (typeof value === 'boolean') return accept(value);
    const meant = WORDS_OF_BOOLEAN.get(typeof value === 'string' ? value.toLowerCase() : value);
    return meant === undefined ? refuse(this.expected, value) : accept(meant);
  },
  write: (value) => value,
};
