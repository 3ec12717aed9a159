/** Scenarios of known lock-ups and blackouts, in fixtures/repro. */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readScenarioFile } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { CONTENDERS } from '../src/simulation/our-contenders.js';

const folder = fileURLToPath(new URL('../fixtures/repro/', import.meta.url));

test.each(readdirSync(folder))('%s can be run', (file) => {
  const { scenarios, contenders } = readScenarioFile(`${folder}${file}`, CONTENDERS);
  expect(scenarios.length).toBeGreaterThan(0);
  expect(contenders.map(({ name }) => name)).toEqual(expect.arrayContaining(['adaptive', 'greedy']));
});
