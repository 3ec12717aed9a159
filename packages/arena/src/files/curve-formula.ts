/**
 * Parser of formulas in `b`, the cost of a batch: `2 + 0.25*2^ceil(log2(b))`. Files are untrusted, so the formula is
 * not evaluated as JavaScript.
 *
 *     sum     = product { ("+" | "-") product }
 *     product = signed { ("*" | "/") signed }
 *     signed  = ("-" | "+") signed | power
 *     power   = atom [ "^" signed ]
 *     atom    = number | "b" | function "(" sum { "," sum } ")" | "(" sum ")"
 */
import { type Place, quoted } from './place.js';

type Formula = (b: number) => number;

/** Bounds the recursion. */
const LONGEST = 1000;
const FUNCTIONS: ReadonlyMap<string, { readonly arguments: number; of(...values: number[]): number }> =
  new Map([
    ['ceil', { arguments: 1, of: Math.ceil }],
    ['floor', { arguments: 1, of: Math.floor }],
    ['sqrt', { arguments: 1, of: Math.sqrt }],
    ['log2', { arguments: 1, of: Math.log2 }],
    ['pow', { arguments: 2, of: Math.pow }],
    ['max', { arguments: Number.POSITIVE_INFINITY, of: Math.max }],
    ['min', { arguments: Number.POSITIVE_INFINITY, of: Math.min }],
  ]);
const WORDS: readonly string[] = ['b', ...FUNCTIONS.keys()];
const SPACE = /\s*/y;
const TOKEN = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z_][A-Za-z0-9_]*|./suy;

export function parseFormula(text: string, place: Place): Formula {
  if (text.length > LONGEST) throw place.error(`expected a formula of at most ${LONGEST} characters.`);
  return new FormulaParser(text, place).parse();
}

class FormulaParser {
  readonly #text: string;
  readonly #place: Place;
  /** The next token; empty at the end. */
  #token = '';
  #tokenAt = 0;
  #at = 0;

  constructor(text: string, place: Place) {
    this.#text = text;
    this.#place = place;
    this.#next();
  }

  parse(): Formula {
    const formula = this.#sum();
    if (this.#token === '') return formula;
    const hint = this.#token === 'b' || isNumber(this.#token) ? ' Write products with "*".' : '';
    throw this.#expected('an operator', hint);
  }

  #sum(): Formula {
    let sum = this.#product();
    for (;;) {
      const left = sum;
      if (this.#skip('+')) {
        const right = this.#product();
        sum = (b) => left(b) + right(b);
      } else if (this.#skip('-')) {
        const right = this.#product();
        sum = (b) => left(b) - right(b);
      } else return sum;
    }
  }

  #product(): Formula {
    let product = this.#signed();
    for (;;) {
      const left = product;
      if (this.#skip('*')) {
        const right = this.#signed();
        product = (b) => left(b) * right(b);
      } else if (this.#skip('/')) {
        const right = this.#signed();
        product = (b) => left(b) / right(b);
      } else return product;
    }
  }

  #signed(): Formula {
    if (this.#skip('+')) return this.#signed();
    if (!this.#skip('-')) return this.#power();
    const value = this.#signed();
    return (b) => -value(b);
  }

  #power(): Formula {
    const base = this.#atom();
    if (!this.#skip('^')) return base;
    const exponent = this.#signed(); // right-associative, with a signed exponent: 2^3^2 is 2^9, and 2^-1 is 0.5
    return (b) => base(b) ** exponent(b);
  }

  #atom(): Formula {
    const token = this.#token;
    if (isNumber(token)) {
      this.#next();
      const value = Number(token);
      return () => value;
    }
    if (this.#skip('b')) return (b) => b;
    if (this.#skip('(')) {
      const inner = this.#sum();
      this.#close();
      return inner;
    }
    if (/^[A-Za-z_]/.test(token)) return this.#call();
    throw this.#expected('a number, b, a function or "("');
  }

  #call(): Formula {
    const name = this.#token;
    const known = FUNCTIONS.get(name);
    if (known === undefined) throw this.#placeOfToken().unknown('word', name, WORDS);
    this.#next();
    if (!this.#skip('(')) throw this.#expected(`"(" after ${name}`);
    const values = [this.#sum()];
    while (values.length < known.arguments && this.#skip(',')) values.push(this.#sum());
    if (known.arguments === 2 && values.length < 2) throw this.#expected('","');
    this.#close();
    return (b) => known.of(...values.map((value) => value(b)));
  }

  #close(): void {
    if (!this.#skip(')')) throw this.#expected('an operator or ")"');
  }

  #skip(token: string): boolean {
    if (this.#token !== token) return false;
    this.#next();
    return true;
  }

  #next(): void {
    SPACE.lastIndex = this.#at;
    this.#tokenAt = this.#at + (SPACE.exec(this.#text)?.[0].length ?? 0);
    TOKEN.lastIndex = this.#tokenAt;
    this.#token = TOKEN.exec(this.#text)?.[0] ?? '';
    this.#at = this.#tokenAt + this.#token.length;
  }

  #placeOfToken(): Place {
    return this.#place.column(this.#tokenAt + 1);
  }

  #expected(what: string, hint = ''): Error {
    const given = this.#token === '' ? 'the end of the formula' : quoted(this.#token);
    return this.#placeOfToken().error(`expected ${what}, got ${given}.${hint}`);
  }
}

function isNumber(token: string): boolean {
  return /^[\d.]/.test(token) && token !== '.';
}
