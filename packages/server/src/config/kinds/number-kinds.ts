import { accept, type Kind, refuse, withCommas } from '../setting-kind.js';

/** How "no limit" is written; `.inf` and, as the batcher has it, -1 are understood too. */
export const UNLIMITED = 'unlimited';

export interface NumberRange {
  readonly least: number;
  readonly most: number;
  readonly orUnlimited?: boolean;
}

export function wholeNumber({ least, most, orUnlimited = false }: NumberRange): Kind<number> {
  return numberKind(
    `a whole number from ${withCommas(least)} to ${withCommas(most)}`,
    (value) => Number.isInteger(value) && value >= least && value <= most,
    orUnlimited,
  );
}

/** A plain number, for keys that end in `_ms`. */
export function milliseconds({ least, most, orUnlimited = false }: NumberRange): Kind<number> {
  const from = least > 0 ? `from ${least}` : 'from 0';
  return numberKind(
    `milliseconds ${from} to ${withCommas(most)}`,
    (value) => value >= least && value <= most,
    orUnlimited,
  );
}

function numberKind(
  range: string,
  isInRange: (value: number) => boolean,
  orUnlimited: boolean,
): Kind<number> {
  const expected = orUnlimited ? `${range}, or ${UNLIMITED}` : range;
  return {
    expected,
    parse(value) {
      if (typeof value === 'number' && isInRange(value)) return accept(value);
      if (orUnlimited && isUnlimited(value)) return accept(Number.POSITIVE_INFINITY);
      return refuse(expected, value);
    },
    write: writeNumber,
  };
}

export function isUnlimited(value: unknown): boolean {
  return value === UNLIMITED || value === Number.POSITIVE_INFINITY || value === -1;
}

/** Neither YAML 1.2's `.inf` nor a number that JSON does not have. */
export function writeNumber(value: number): number | string {
  return value === Number.POSITIVE_INFINITY ? UNLIMITED : value;
}
