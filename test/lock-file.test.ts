/**
 * `npm install` silently leaves an optional package out of the lock file when the registry does not
 * have it (yet); then `npm ci` fails, on every machine. The way out is a version that is complete.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Lock {
  readonly packages: Record<string, { readonly optionalDependencies?: Record<string, string> }>;
}

test('every optional package, of whatever platform, is in the lock file', () => {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
  expect(missingFrom(lock)).toEqual([]);
});

test('one that is not would be named', () => {
  const optionalDependencies = { 'tool-linux': '1.0.0', 'tool-darwin': '1.0.0' };
  const packages = { 'node_modules/tool': { optionalDependencies }, 'node_modules/tool-linux': {} };
  expect(missingFrom({ packages })).toEqual(['tool-darwin']);
});

function missingFrom({ packages }: Lock): string[] {
  const locked = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
  const optional = Object.values(packages).flatMap((one) => Object.keys(one.optionalDependencies ?? {}));
  return optional.filter((name) => !locked.has(name));
}
