/** A system test, because it takes half a minute. */
import { harmText, runHarm } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { KNOWN_HARM } from '../support/known-harm.js';

/** The nightly tests run 1,000. */
const COUNT = 100;

test('the adaptive policy does no harm: in random scenarios it is no worse than greedy dispatch', async () => {
  const results = await runHarm({ count: COUNT, workers: 0 });
  const harmed = results.filter(({ isHarmed }) => isHarmed).map(({ seed }) => seed);
  expect(harmed, harmText(results)).toEqual(KNOWN_HARM.filter((seed) => seed <= COUNT));
});
