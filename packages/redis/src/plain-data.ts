/// <reference lib="es2024.string" />
/**
 * Which values an encoding carries unchanged. All others are rejected before they are encoded: JSON.stringify and
 * MessagePack encoders change many of them without an error (NaN to null, a Map to {}, a function to undefined).
 */

export interface Carrier {
  /** What it carries, for error messages. */
  readonly range: string;
  /** undefined as a value of its own; without it, members that are undefined are left out, as in JSON. */
  readonly hasUndefined: boolean;
  /** NaN and the infinities, BigInt. */
  readonly hasAllNumbers: boolean;
  /** Strings with lone surrogates, which UTF-8 does not have. */
  readonly hasLoneSurrogates: boolean;
  /** Names of members that decoding would change. */
  readonly reservedKeys: readonly string[];
  /** Whether instances with this prototype are carried, besides plain objects and arrays. */
  isCarried(prototype: object): boolean;
}

/** Deeper nesting could exhaust the stack of the encoder, or of the decoder on the other side. */
const MAX_DEPTH = 500;

interface Problem {
  /** Where in the value: `.rows[3]`. */
  readonly path: string;
  readonly what: string;
}

/** Throws a TypeError that says which part of the value cannot be carried. Returns whether there is a -0 in it. */
export function checkPlainData(value: unknown, carrier: Carrier): { readonly hasNegativeZero: boolean } {
  const inspection = new Inspection(carrier);
  const problem = value === undefined && !carrier.hasUndefined ? whatIs('undefined') : inspection.look(value);
  if (problem === undefined) return inspection;
  const where = problem.path === '' ? '' : ` at ${problem.path}`;
  throw new TypeError(`${problem.what}${where} (${carrier.range})`);
}

class Inspection {
  hasNegativeZero = false;
  readonly #carrier: Carrier;
  readonly #ancestors: object[] = [];

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
  }

  look(value: unknown): Problem | undefined {
    switch (typeof value) {
      case 'number':
        if (value === 0 && 1 / value < 0) this.hasNegativeZero = true;
        return Number.isFinite(value) || this.#carrier.hasAllNumbers ? undefined : whatIs(String(value));
      case 'string':
        return this.#isCarriedText(value) ? undefined : whatIs('a string with a lone surrogate');
      case 'boolean':
        return undefined;
      case 'undefined':
        return undefined; // its parent has decided
      case 'bigint':
        return this.#carrier.hasAllNumbers ? undefined : whatIs('a BigInt');
      case 'object':
        return value === null ? undefined : this.#lookInside(value);
      default:
        return whatIs(`a ${typeof value}`);
    }
  }

  #lookInside(value: object): Problem | undefined {
    const ancestors = this.#ancestors;
    if (ancestors.includes(value)) return whatIs('a circular reference');
    if (ancestors.length >= MAX_DEPTH) return whatIs(`a value nested more than ${MAX_DEPTH} levels deep`);
    const prototype = Object.getPrototypeOf(value) as object | null;
    ancestors.push(value);
    const problem =
      Array.isArray(value) && isBuiltIn(prototype, Array.prototype)
        ? this.#lookAtElements(value)
        : prototype === null || isBuiltIn(prototype, Object.prototype)
          ? this.#lookAtMembers(value as Record<string, unknown>)
          : this.#lookAtInstance(value, prototype);
    ancestors.pop();
    return problem;
  }

  #lookAtElements(array: readonly unknown[]): Problem | undefined {
    // Indexes come first among the keys: if the last of so many is an index, all are.
    const keys = Object.keys(array);
    const hasOthers = keys.length !== array.length || (keys.at(-1) ?? '-1') !== String(array.length - 1);
    if (hasOthers || Object.getOwnPropertySymbols(array).length > 0)
      return whatIs('an array with holes or with named properties');
    if (hasToJson(array)) return whatIs('an object with toJSON');
    for (let i = 0; i < array.length; i++) {
      const element = array[i];
      if (element === undefined && !this.#carrier.hasUndefined) return { path: `[${i}]`, what: 'undefined' };
      const problem = this.look(element);
      if (problem !== undefined) return { path: `[${i}]${problem.path}`, what: problem.what };
    }
    return undefined;
  }

  #lookAtMembers(object: Readonly<Record<string, unknown>>): Problem | undefined {
    if (Object.getOwnPropertySymbols(object).length > 0) return whatIs('an object with a symbol as key');
    for (const key of Object.keys(object)) {
      const problem = this.#isCarriedKey(key) ? this.look(object[key]) : whatIs('a key that is not carried');
      if (problem !== undefined) return { path: `${step(key)}${problem.path}`, what: problem.what };
    }
    return hasToJson(object) ? whatIs('an object with toJSON') : undefined;
  }

  #lookAtInstance(value: object, prototype: object): Problem | undefined {
    if (!this.#carrier.isCarried(prototype)) return whatIs(`an instance of ${classOf(prototype)}`);
    if (!ArrayBuffer.isView(value) && Object.keys(value).length > 0)
      return whatIs(`a ${classOf(prototype)} with named properties`);
    // Whatever claims to be a Set and is none has no iterator, and throws here.
    return prototype === Set.prototype ? this.#lookAtElements([...(value as Set<unknown>)]) : undefined;
  }

  #isCarriedText(text: string): boolean {
    return this.#carrier.hasLoneSurrogates || text.isWellFormed();
  }

  #isCarriedKey(key: string): boolean {
    return this.#isCarriedText(key) && !this.#carrier.reservedKeys.includes(key);
  }
}

/** The prototype itself, or the one of the same class of another realm (`node:vm`): as near to the end of the chain. */
function isBuiltIn(prototype: object | null, own: object): boolean {
  if (prototype === own) return true;
  if (prototype === null) return false;
  const next = Object.getPrototypeOf(prototype) as object | null;
  if (own === Object.prototype) return next === null && Object.hasOwn(prototype, 'isPrototypeOf');
  return next !== null && Object.getPrototypeOf(next) === null && Array.isArray(prototype);
}

/** JSON.stringify calls it also when it is inherited, or not enumerable. */
function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function';
}

function classOf(prototype: object): string {
  const maker = (prototype as { constructor?: unknown }).constructor;
  return (typeof maker === 'function' && maker.name) || 'an unnamed class';
}

function step(key: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key.slice(0, 40))}]`;
}

function whatIs(what: string): Problem {
  return { path: '', what };
}
