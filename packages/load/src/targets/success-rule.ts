/** When a response over HTTP is a success: the rule of a target, compiled once. */
import { LoadError } from '../load-error.js';
import type { SuccessRule } from './target-spec.js';

/** Why a body is not the expected one, as reports count it; undefined where it is. */
export type BodyCheck = (body: Buffer) => string | undefined;

export interface CompiledRule {
  readonly isStatus: (status: number) => boolean;
  /** Undefined where bodies need not be read. */
  readonly checkBody: BodyCheck | undefined;
}

/** @throws {LoadError} INVALID_OPTION */
export function compileRule(rule: SuccessRule = {}): CompiledRule {
  const statuses = rule.status ?? ['2xx'];
  if (statuses.length === 0) throw invalid('success.status', 'at least one status', 'none');
  const ranges = statuses.map(rangeOf);
  const isSuccess = new Uint8Array(1000);
  for (const [first, last] of ranges) isSuccess.fill(1, first, last + 1);
  const checks = [
    ...(rule.body === undefined ? [] : [textCheck(rule.body)]),
    ...(rule.json === undefined ? [] : [jsonCheck(rule.json)]),
  ];
  return { isStatus: (status) => isSuccess[status] === 1, checkBody: together(checks) };
}

function rangeOf(text: string): [first: number, last: number] {
  const [, digit] = /^([1-5])xx$/i.exec(text) ?? [];
  if (digit !== undefined) return [Number(digit) * 100, Number(digit) * 100 + 99];
  const [, first, last = first] = /^([1-5]\d\d)(?:-([1-5]\d\d))?$/.exec(text) ?? [];
  if (first === undefined || Number(first) > Number(last)) {
    throw invalid('success.status', '2xx, 200 or 200-299', JSON.stringify(text));
  }
  return [Number(first), Number(last)];
}

function together([first, second]: readonly BodyCheck[]): BodyCheck | undefined {
  if (first === undefined || second === undefined) return first;
  return (body) => first(body) ?? second(body);
}

function textCheck(rule: string): BodyCheck {
  if (rule === '') throw invalid('success.body', 'a text, or a regular expression between slashes', '""');
  const [, source, flags = ''] = /^\/(.+)\/([a-z]*)$/s.exec(rule) ?? [];
  if (source !== undefined) {
    const expression = expressionOf(rule, source, flags);
    const reason = `body does not match ${rule}`;
    return (body) => (expression.test(body.toString()) ? undefined : reason);
  }
  const bytes = Buffer.from(rule);
  const reason = `body does not contain ${JSON.stringify(rule)}`;
  return (body) => (body.includes(bytes) ? undefined : reason);
}

function expressionOf(rule: string, source: string, flags: string): RegExp {
  // A global or sticky expression remembers where it stopped in the last body.
  if (/[gy]/.test(flags))
    throw invalid('success.body', 'a regular expression without the flags g and y', rule);
  try {
    return new RegExp(source, flags);
  } catch (error) {
    throw new LoadError('INVALID_OPTION', `success.body: ${(error as Error).message}.`, { cause: error });
  }
}

function jsonCheck({ path, value }: NonNullable<SuccessRule['json']>): BodyCheck {
  if (path === '') throw invalid('success.json.path', 'a member, such as outputs.0.name', '""');
  const members = path.split('.');
  const missing = `JSON body without ${path}`;
  const expected = value === undefined ? undefined : canonical(value);
  const different = `${path} is not ${expected}`;
  return (body) => {
    let found: unknown;
    try {
      found = JSON.parse(body.toString());
    } catch {
      return 'body is not JSON';
    }
    for (const member of members) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, member)) return missing;
      found = (found as Record<string, unknown>)[member];
    }
    // Most values are strings and numbers: written as JSON only where they are not the same.
    const isExpected = expected === undefined || found === value || isCanonical(found, expected);
    return isExpected ? undefined : different;
  };
}

function isCanonical(value: unknown, expected: string): boolean {
  try {
    return canonical(value) === expected;
  } catch {
    // Nested more deeply than the stack allows: no rule is.
    return false;
  }
}

/** JSON in which the order of members does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

function invalid(where: string, expected: string, got: string): LoadError {
  return new LoadError('INVALID_OPTION', `${where}: expected ${expected}, got ${got}.`);
}
