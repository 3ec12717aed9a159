import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runnerReference, serverReference } from '../../src/config/config-reference.js';
import { RUNNER_SCHEMA, SERVER_SCHEMA } from '../../src/config/config-schema.js';
import { ROOT_KEYS, RUNNER_KEYS, settingsOf, snakeCase } from '../../src/config/key-tree.js';

const page = readFileSync(new URL('../../../../docs/reference/configuration.md', import.meta.url), 'utf8');

test('the tables of the reference are those of the schema', () => {
  expect(page).toContain(serverReference());
  expect(page).toContain(runnerReference());
});

test('every other word for a setting is in the reference, and every one of BentoML that is refused', () => {
  const words = [
    ...Object.keys(RUNNER_SCHEMA.aliases ?? {}),
    ...Object.keys(RUNNER_SCHEMA.fields.resources.aliases ?? {}),
    ...Object.keys(RUNNER_SCHEMA.elsewhere ?? {}),
    ...Object.keys(SERVER_SCHEMA.elsewhere ?? {}),
  ];
  for (const word of words) expect(page).toContain(`\`${word}`);
});

test('every default is a value that could be given', () => {
  for (const { path, setting } of [...settingsOf(ROOT_KEYS), ...settingsOf(RUNNER_KEYS)]) {
    const written = setting.kind.write(setting.default);
    expect([path, setting.kind.parse(written, { folder: '' })]).toEqual([path, { value: setting.default }]);
  }
});

test('keys are fields in snake case, units in values', () => {
  expect(snakeCase('maxBatchSize')).toBe('max_batch_size');
  const [timeout] = settingsOf(RUNNER_KEYS).filter(({ fields }) => fields.includes('timeoutMs'));
  expect(timeout?.path).toEqual(['timeout']);
});
