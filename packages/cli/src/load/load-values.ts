/** Parsers of the flags of `batchwise load`: durations, pauses, steps and ramps. */
import type { ArrivalSchedule, SuccessRule, WaitTime } from '@batchwise/load';
import { InvalidArgumentError } from 'commander';

const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, min: 60, h: 3600 };
const NUMBER = String.raw`\d+\.?\d*|\.\d+`;
const DURATION = new RegExp(String.raw`^(${NUMBER})\s*(ms|s|min|m|h)?$`);

/** `60s`, `1.5m`, `500ms`, `2h`, or seconds without a unit. */
export function duration(text: string): number {
  const [, value, unit = 's'] = DURATION.exec(text.trim()) ?? [];
  const seconds = Number(value) * (SECONDS[unit] as number);
  if (seconds > 0 && Number.isFinite(seconds)) return seconds;
  throw new InvalidArgumentError('Expected a duration above 0, such as 60s, 500ms, 2m or 1h.');
}

const WAIT = new RegExp(
  String.raw`^(between|constant|pacing)\s*\(\s*(${NUMBER})\s*(?:,\s*(${NUMBER})\s*)?\)$`,
);

/** `between(0.01, 2)`, `constant(1)`, `pacing(5)`, in seconds, as in a locustfile. */
export function waitTime(text: string): WaitTime {
  const [, kind, first, second] = WAIT.exec(text.trim()) ?? [];
  const seconds = Number(first);
  if (kind === 'between' && second !== undefined && seconds <= Number(second)) {
    return { kind, min: seconds, max: Number(second) };
  }
  if ((kind === 'constant' || kind === 'pacing') && second === undefined) return { kind, seconds };
  throw new InvalidArgumentError(
    'Expected between(0.01, 2), constant(1) or pacing(5): seconds between two requests of a user.',
  );
}

const STEP = new RegExp(String.raw`^(${NUMBER})\s*x\s*(.+)$`);

/** `100x30s,400x1m`: requests per second and durations, one after the other. */
export function steps(text: string): ArrivalSchedule {
  const found = text.split(',').map((step) => {
    const [, perSecond, time] = STEP.exec(step.trim()) ?? [];
    if (time === undefined || Number(perSecond) <= 0) {
      throw new InvalidArgumentError('Expected rates and durations, such as 100x30s,400x1m.');
    }
    return { perSecond: Number(perSecond), seconds: duration(time) };
  });
  return { kind: 'steps', steps: found };
}

const RAMP = new RegExp(String.raw`^(${NUMBER})\s*\.\.\s*(${NUMBER})\s*in\s*(.+)$`);

/** `100..900in60s`: the rate changes linearly. */
export function ramp(text: string): ArrivalSchedule {
  const [, from, to, time] = RAMP.exec(text.trim()) ?? [];
  if (time === undefined || Number(from) + Number(to) === 0) {
    throw new InvalidArgumentError('Expected two rates and a duration, such as 100..900in60s.');
  }
  return { kind: 'ramp', from: Number(from), to: Number(to), seconds: duration(time) };
}

/** `name: value`, may be repeated. */
export function header(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^:\s]+)\s*:\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("Expected 'name: value'.");
  return { ...before, [name.toLowerCase()]: value as string };
}

export function severalTexts(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** `outputs.0.name`, or with the JSON value that it must have: `label="setosa"`. */
export function jsonMember(text: string): NonNullable<SuccessRule['json']> {
  const [path, ...rest] = text.split('=');
  if (!path)
    throw new InvalidArgumentError('Expected the path of a member, such as label or label="setosa".');
  if (rest.length === 0) return { path };
  try {
    return { path, value: JSON.parse(rest.join('=')) };
  } catch {
    throw new InvalidArgumentError(
      `Expected a JSON value after ${path}=, such as ${path}="text" or ${path}=1.`,
    );
  }
}
