import { isIPv6 } from 'node:net';
import { accept, type Kind, refuse, withCommas } from '../setting-kind.js';

/** Sizes that a backend pads to: whole numbers, rising. A single one may stand for a list of one. */
export function risingSizes({ most }: { readonly most: number }): Kind<readonly number[]> {
  const expected = `a list of rising whole numbers from 1 to ${withCommas(most)}`;
  return {
    expected,
    isList: true,
    parse(value) {
      const sizes: unknown[] = Array.isArray(value) ? value : [value];
      for (const [i, size] of sizes.entries()) {
        const at = Array.isArray(value) ? [i] : [];
        if (!isWholeNumber(size, 1, most)) return refuse(expected, size, at);
        if (i > 0 && size <= (sizes[i - 1] as number))
          return refuse(`a number above the previous one, ${sizes[i - 1]}`, size, at);
      }
      return accept(Object.freeze(sizes as number[]));
    },
    write: (sizes) => sizes,
  };
}

/** Without ports: a name, an address, or `*`. A single one may stand for a list of one. */
export const hostNames: Kind<readonly string[]> = {
  expected: 'a list of host names without ports, or *',
  isList: true,
  parse(value) {
    const hosts: unknown[] = Array.isArray(value) ? value : [value];
    for (const [i, host] of hosts.entries()) {
      const isName = typeof host === 'string' && (/^(?:\*|[\w.-]{1,253})$/.test(host) || isIPv6(host));
      if (!isName) return refuse(this.expected, host, Array.isArray(value) ? [i] : []);
    }
    return accept(Object.freeze(hosts as string[]));
  },
  write: (hosts) => hosts,
};

/** Some of these words, each once. A single one may stand for a list of one. */
export function listOf<T extends string>(...words: readonly T[]): Kind<readonly T[]> {
  const expected = `a list of any of ${words.join(', ')}`;
  return {
    expected,
    isList: true,
    parse(value) {
      const given: unknown[] = Array.isArray(value) ? value : [value];
      for (const [i, word] of given.entries()) {
        const at = Array.isArray(value) ? [i] : [];
        if (!words.includes(word as T)) return refuse(expected, word, at);
        if (given.indexOf(word) < i) return refuse('each value once', word, at);
      }
      return accept(Object.freeze(given as T[]));
    },
    write: (given) => given,
  };
}

const MOST_DEVICES = 64;

/** A count, the first so many, or a list of their numbers. */
export const devices: Kind<readonly number[]> = {
  expected: `a number of devices from 0 to ${MOST_DEVICES}, or a list of device numbers`,
  isList: true,
  parse(value) {
    if (isWholeNumber(value, 0, MOST_DEVICES))
      return accept(Object.freeze(Array.from({ length: value }, (_, i) => i)));
    if (!Array.isArray(value)) return refuse(this.expected, value);
    for (const [i, device] of value.entries()) {
      if (!isWholeNumber(device, 0, MOST_DEVICES - 1))
        return refuse(`a device number from 0 to ${MOST_DEVICES - 1}`, device, [i]);
      if (value.indexOf(device) < i) return refuse('each device once', device, [i]);
    }
    return accept(Object.freeze(value as number[]));
  },
  write: (numbers) => numbers,
};

const MOST_DIMENSION = 31;

/** One for both, or one each: `0`, `[0, 1]`. */
export const batchDimensions: Kind<readonly [input: number, output: number]> = {
  expected: `a dimension from 0 to ${MOST_DIMENSION}, or two of them, [in, out]`,
  isList: true,
  parse(value) {
    const pair: unknown[] = Array.isArray(value) ? value : [value, value];
    const [input, output] = pair;
    if (
      pair.length === 2 &&
      isWholeNumber(input, 0, MOST_DIMENSION) &&
      isWholeNumber(output, 0, MOST_DIMENSION)
    )
      return accept(Object.freeze([input, output] as const));
    return refuse(this.expected, value);
  },
  write: (pair) => pair,
};

function isWholeNumber(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
}
