/** The long version of ../system/do-no-harm.test.ts. */
import { harmText, runHarm } from '@batchwise/arena';
import { expect, test } from 'vitest';
import { KNOWN_HARM } from '../support/known-harm.js';

test('the adaptive policy does no harm in 1,000 random scenarios', async () => {
  const results = await runHarm({ count: 1000, workers: 0 });
  const harmed = results.filter(({ isHarmed }) => isHarmed).map(({ seed }) => seed);
  expect(harmed, harmText(results)).toEqual(KNOWN_HARM);
});
