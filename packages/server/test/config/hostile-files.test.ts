import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/config/config-error.js';
import { configJson, configText } from '../../src/config/config-report.js';
import { loadConfig } from '../../src/config/load-config.js';
import { resolveRunner } from '../../src/config/resolve-runner.js';
import { ConfigFolder } from './support/config-folder.js';

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

test('a name that no file can have is refused like any other', () => {
  expect(() => loadConfig({ file: 'a\0b.yaml' })).toThrow(ConfigError);
});

describe('files that say nothing', () => {
  test.each([
    '',
    '\n',
    '# nothing',
    '---\n',
    '{}',
    'null',
    '~',
    '\uFEFF',
    'runners:',
    'runners: {}\nserver:\n',
  ])('%j is fine', (text) => {
    const { settings } = folder.load(text);
    expect(settings.server.port).toBe(3000);
    expect(settings.runners.all).toEqual({});
  });

  test('keys that begin with x- are a place for anchors', () => {
    const { settings } = folder.load(
      'x-small: &small {max_batch_size: 4}\nrunners: {iris: {batching: *small}}',
    );
    expect(settings.runners.byName.get('iris')).toEqual({ batching: { maxBatchSize: 4 } });
    expect(folder.complaints('server: {x-a: 1}')).toHaveLength(1);
  });
});

describe('anchors, aliases and merges', () => {
  test('a merge gives way to what stands beside it, and has its own origin', () => {
    const { settings, origins } = folder.load(
      'x-d: &d\n  max_batch_size: 4\n  max_wait_ms: 2\nrunners:\n  iris:\n    batching:\n      <<: *d\n      max_batch_size: 8\n',
    );
    expect(settings.runners.byName.get('iris')).toEqual({ batching: { maxBatchSize: 8, maxWaitMs: 2 } });
    expect(origins.get('runners.iris.batching.max_wait_ms')).toMatchObject({ line: 3, column: 3 });
    expect(origins.get('runners.iris.batching.max_batch_size')).toMatchObject({ line: 8, column: 7 });
  });

  test('of several merges the first counts', () => {
    const text = 'x-a: &a {warmup: 1}\nx-b: &b {warmup: 2, replicas: 2}\nrunners: {iris: {<<: [*a, *b]}}';
    expect(folder.load(text).settings.runners.byName.get('iris')).toEqual({ warmup: 1, replicas: 2 });
  });

  test('a value, and a key, may be an alias', () => {
    const text = 'x-n: &n 7\nx-k: &k warmup\nrunners: {warmup: *n, iris: {*k : 9}}';
    const { settings } = folder.load(text);
    expect(settings.runners.all).toEqual({ warmup: 7 });
    expect(settings.runners.byName.get('iris')).toEqual({ warmup: 9 });
  });

  test('what is wrong in an alias is told where it is written', () => {
    expect(folder.complaints('x-d: &d\n  batching: {max_batch_size: 0}\nrunners:\n  iris: *d\n')).toEqual([
      'batchwise.yaml:2:30: runners.iris.batching.max_batch_size: expected a whole number from 1 to 1,000,000, got 0.',
    ]);
  });

  test.each([
    ['runners: {<<: 5}', 'batchwise.yaml:1:11: runners: << expects a map, or a list of maps.'],
    ['runners: &r {<<: *r}', 'batchwise.yaml:1:18: *r: the value contains itself.'],
    ['models: &m [*m]', 'batchwise.yaml:1:13: *m: the value contains itself.'],
    ['runners: &r {iris: {batching: *r}}', 'batchwise.yaml:1:31: *r: the value contains itself.'],
  ])('%s is refused', (text, complaint) => expect(folder.complaints(text)).toEqual([complaint]));

  test('a bomb of aliases is refused before it goes off', () => {
    const levels = ['x-0: &a0 [a, a, a, a, a, a, a, a, a, a]'];
    for (let i = 1; i < 12; i++)
      levels.push(`x-${i}: &a${i} [${Array.from({ length: 10 }, () => `*a${i - 1}`).join(', ')}]`);
    expect(folder.complaints(`${levels.join('\n')}\nmodels: *a11`)).toEqual([
      'batchwise.yaml:2:11: expected at most 100,000 values with aliases expanded, got more.',
    ]);
  });

  test('very many aliases are refused before they are followed', () => {
    const text = `x-a: &a 1\nmodels: [${Array.from({ length: 5000 }, () => '*a').join(',')}]`;
    expect(folder.complaints(text)).toEqual(['batchwise.yaml:2:10: expected at most 500 aliases, got more.']);
  });
});

test('any depth is refused or read, never a crash', () => {
  for (const depth of [10, 1000, 10_000])
    for (const text of [`models: ${'['.repeat(depth)}${']'.repeat(depth)}`, `x: ${'{a: '.repeat(depth)}`])
      expect(folder.complaints(text).length).toBeGreaterThan(0);
});

describe('names that objects have anyway', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype'];

  test.each(names)('%s is no setting', (name) => {
    for (const text of [
      `${name}: {port: 1}`,
      `server: {${name}: {port: 1}}`,
      `runners: {batching: {${name}: 1}}`,
    ])
      expect(folder.complaints(text)).toEqual([expect.stringContaining('unknown key')]);
    expect(({} as Record<string, unknown>).port).toBe(undefined);
  });

  test.each(names)('%s is a name of a runner like any other', (name) => {
    const loaded = folder.load(`runners: {${name}: {warmup: 9}}\nmodels: [{name: ${name}, path: a.onnx}]`);
    expect(resolveRunner(loaded.settings, name, { isBatchable: true }).warmup).toBe(9);
    expect(resolveRunner(loaded.settings, 'other', { isBatchable: true }).warmup).toBe(3);
    expect(Object.keys(configJson(loaded).settings as object)).toContain('runners');
    expect(JSON.stringify(configJson(loaded))).toContain(`"${name}":{"batchable":true`);
    expect(configText(loaded)).toContain(`  ${name}:\n`);
    expect(({} as Record<string, unknown>).warmup).toBe(undefined);
  });
});

test('keys that YAML takes for numbers or truths are names as they are written', () => {
  const { settings } = folder.load('runners: {007: {warmup: 1}, true: {warmup: 2}, 1e3: {warmup: 3}}');
  expect([...settings.runners.byName.keys()]).toEqual(['007', 'true', '1e3']);
});

test('the settings cannot be changed', () => {
  const { settings } = folder.load(
    'models: [a.onnx]\nrunners: {batching: {batch_sizes: [1, 2]}, iris: {resources: {gpu: 1}}}',
  );
  const seen: unknown[] = [];
  const check = (value: unknown) => {
    if (typeof value !== 'object' || value === null || seen.includes(value)) return;
    seen.push(value);
    if (value instanceof Map) for (const part of value.values()) check(part);
    else {
      expect(Object.isFrozen(value)).toBe(true);
      for (const part of Object.values(value)) check(part);
    }
  };
  check(settings);
  const resolved = resolveRunner(settings, 'iris', { isBatchable: true });
  for (const part of [resolved, resolved.batching, resolved.resources])
    expect(Object.isFrozen(part)).toBe(true);
  expect(seen.length).toBeGreaterThan(10);
});
