/** The time per item of enqueue(), the API without promises, compared with submit(). */
import { atMost, pairedRatios } from '@batchwise/bench-harness';
import type { Figure } from '../figure.js';
import { ns } from '../notation.js';

export const enqueue: Figure = {
  name: 'enqueue',
  title: 'enqueue: time per item ÷ submit (1,000 in a closed loop, enqueued again from within the sink)',

  async measure(rounds, { warmupMs, timedMs }) {
    const results = await rounds.run('path', {
      enqueue: { path: 'sinks', warmupMs, timedMs },
      submit: { path: 'unlimited', warmupMs, timedMs },
    });
    const sinks = results.enqueue.map(({ nsEach }) => nsEach);
    const promises = results.submit.map(({ nsEach }) => nsEach);
    return {
      rows: [
        {
          label: 'enqueue',
          unit: 'ratio',
          samples: pairedRatios(sinks, promises),
          goal: atMost(0.6),
          detail: `${ns(sinks)} ÷ ${ns(promises)}`,
        },
      ],
      raw: results,
    };
  },
};
