/** The heap memory of a queued item. */
import { atMost } from '@batchwise/bench-harness';
import type { Figure, Row } from '../figure.js';
import type { MemoryKind } from '../jobs/memory.js';

/** The heap size hardly varies between rounds. */
const ROUNDS = 2;

export const memory: Figure = {
  name: 'memory',
  title: 'Memory: bytes of heap per queued item, after a full collection',

  async measure(rounds, { maxQueued: queued }) {
    const results = await rounds.run(
      'memory',
      {
        submit: { kind: 'submit', queued },
        'submit with timeoutMs': { kind: 'submit with timeoutMs', queued },
        'submit with priority': { kind: 'submit with priority', queued },
        enqueue: { kind: 'enqueue', queued },
        'bare promise': { kind: 'bare promise', queued },
      },
      ROUNDS,
    );
    const rows = (Object.keys(results) as MemoryKind[]).map(
      (kind): Row => ({
        label: kind,
        unit: 'bytes',
        samples: results[kind].map(({ bytesEach }) => bytesEach),
        ...(kind === 'submit' && { goal: atMost(300, 0) }),
      }),
    );
    return { rows, raw: results };
  },
};
