/** A showcase with one backend and short runs. */
import { greedy, window } from 'batchwise';
import { type Showcase, showcase } from '../../src/page/showcase.js';
import { formulaCurve } from '../../src/simulation/curve.js';

export function smallShowcase(slots: readonly number[] = [1, 2]): Promise<Showcase> {
  return showcase({
    contenders: [
      { name: 'greedy', contender: { name: 'greedy', policy: () => greedy(), knowsTarget: false } },
      {
        name: 'window',
        contender: { name: 'window', policy: () => window({ maxWaitMs: 2 }), knowsTarget: false },
      },
    ],
    curves: [{ curve: formulaCurve('2 + b', 8, (b) => 2 + b), title: 'Small', about: 'A small one.' }],
    slots,
    effort: 0.05,
    meanBound: (_curve, count) => (count === 1 ? 3 : undefined),
  });
}
