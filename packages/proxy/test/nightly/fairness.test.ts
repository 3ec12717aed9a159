/** The long version of system/fairness.test.ts: more batches, one honest connection and many, and kinds in pairs. */
import { expect, it } from 'vitest';
import { expectFair, HOSTILE_KINDS, honestShare } from '../support/hostile-connections.js';

it.each(HOSTILE_KINDS)('honest clients keep their share next to %s for a long time', async (...kind) => {
  for (const connections of [1, 4, 16]) expectFair(await honestShare([kind], 200, connections));
});

const pairs = HOSTILE_KINDS.flatMap((one, i) =>
  HOSTILE_KINDS.slice(i + 1).map((other) => [one, other] as const),
);

it.each(pairs)(
  'two hostile connections leave honest clients a third of the batches, %#',
  async (one, other) => {
    const { failed, ofBatches } = await honestShare([one, other], 60);
    expect(failed).toEqual([]);
    expect(ofBatches).toBeGreaterThanOrEqual(0.3);
  },
);
