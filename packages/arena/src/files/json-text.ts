/**
 * Parses JSON with line and column in errors. Not every Node version has the position in the error of `JSON.parse`, so
 * when that fails, a second pass over the text finds the position.
 */
import type { Place } from './place.js';

export function parseJson(text: string, place: Place): unknown {
  const withoutMark = text.startsWith('\uFEFF') ? text.slice(1) : text;
  try {
    return JSON.parse(withoutMark);
  } catch (cause) {
    const { at, expected } = firstMistake(withoutMark);
    const before = withoutMark.slice(0, at);
    const line = before.split('\n').length;
    const column = at - before.lastIndexOf('\n');
    const given = at < withoutMark.length ? JSON.stringify(tokenAt(withoutMark, at)) : 'the end of the file';
    throw place.position(line, column).error(`expected ${expected}, got ${given}.`, { cause });
  }
}

interface Mistake {
  readonly at: number;
  readonly expected: string;
}

const SPACE = /[ \t\r\n]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these in a string
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const TOKEN = /[A-Za-z0-9_.+-]+|./suy;

const WHOLE_STRING = 'a string that ends on its line and has no unknown escapes';

/** The first syntax error of a text that is not JSON. Without recursion, because nesting is unbounded. */
function firstMistake(text: string): Mistake {
  const closers: string[] = [];
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const length = pattern.exec(text)?.[0].length ?? 0;
    at += length;
    return length > 0;
  };
  const skipMark = (mark: string): boolean => {
    skip(SPACE);
    if (text[at] !== mark) return false;
    at += 1;
    return true;
  };
  /** Undefined when a key and its colon were there. */
  const missingKey = (expected: string): Mistake | undefined => {
    skip(SPACE);
    if (!skip(STRING)) return { at, expected: text[at] === '"' ? WHOLE_STRING : expected };
    return skipMark(':') ? undefined : { at, expected: '":"' };
  };

  for (;;) {
    // At the beginning of a value.
    let isOpen = false;
    if (skipMark('{')) {
      isOpen = !skipMark('}');
      if (isOpen) {
        closers.push('}');
        const mistake = missingKey('a key in double quotes or "}"');
        if (mistake !== undefined) return mistake;
      }
    } else if (skipMark('[')) {
      isOpen = !skipMark(']');
      if (isOpen) closers.push(']');
    } else if (!skip(STRING) && !skip(SCALAR)) {
      return { at, expected: text[at] === '"' ? WHOLE_STRING : 'a value' };
    }
    if (isOpen) continue;
    // At the end of a value, and of the containers that end with it.
    let closer = closers.at(-1);
    while (closer !== undefined && skipMark(closer)) {
      closers.pop();
      closer = closers.at(-1);
    }
    if (closer === undefined) {
      skip(SPACE);
      return { at, expected: 'nothing more' };
    }
    if (!skipMark(',')) return { at, expected: `"," or "${closer}"` };
    const mistake = closer === '}' ? missingKey('a key in double quotes') : undefined;
    if (mistake !== undefined) return mistake;
  }
}

function tokenAt(text: string, at: number): string {
  TOKEN.lastIndex = at;
  return (TOKEN.exec(text)?.[0] ?? '').slice(0, 40);
}
