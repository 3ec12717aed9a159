/** The options that all benchmarks have, and the checks of theirs. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Effort, NamedFigure } from './figure.js';

/** A mistake of whoever called: told in a line, without a stack. */
export class UsageError extends Error {}

/** The flags of every benchmark; each adds its own. */
export const FLAGS = {
  only: { type: 'string' },
  rounds: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false, short: 'h' },
} as const;

const MAX_WARMUP_MS = 1000;

export function parseFlags<const Flags extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Flags,
): ReturnType<typeof parseArgs<{ options: Flags }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

/** Those of `--only`, in the order of the report; all when it is not given. */
export function chosenFigures<Figure extends NamedFigure>(
  only: string | undefined,
  known: readonly Figure[],
): readonly Figure[] {
  const names = known.map(({ name }) => name);
  const chosen = chosenOf('--only', only, names);
  return known.filter(({ name }) => chosen.includes(name));
}

/** A list by commas of names that are known; all of them when it is not given. */
export function chosenOf<Name extends string>(
  flag: string,
  text: string | undefined,
  known: readonly Name[],
): readonly Name[] {
  if (text === undefined) return known;
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !known.some((other) => other === name));
  if (unknown !== undefined) {
    throw new UsageError(`${flag}: expected some of ${known.join(', ')}, got '${unknown}'.`);
  }
  return known.filter((name) => names.includes(name));
}

export function validRounds(text: string | undefined, byDefault: number): number {
  const rounds = Number(text ?? byDefault);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new UsageError(`--rounds: expected a whole number of at least 1, got '${text}'.`);
  }
  return rounds;
}

export function validSeconds(text: string | undefined, byDefault: number, least: number): number {
  const seconds = Number(text ?? byDefault);
  if (!(seconds >= least && seconds < Number.POSITIVE_INFINITY)) {
    throw new UsageError(`--seconds: expected a number of at least ${least}, got '${text}'.`);
  }
  return seconds;
}

/** Rounds of so many seconds, each after a warm-up that is as long, but at most a second. */
export function timedEffort(
  values: { readonly rounds?: string | undefined; readonly seconds?: string | undefined },
  byDefault: { readonly rounds: number; readonly seconds: number },
): Effort {
  const timedMs = 1000 * validSeconds(values.seconds, byDefault.seconds, 0.1);
  return {
    rounds: validRounds(values.rounds, byDefault.rounds),
    warmupMs: Math.min(MAX_WARMUP_MS, timedMs),
    timedMs,
  };
}
