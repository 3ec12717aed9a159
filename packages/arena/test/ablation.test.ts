import { ablationJson, ablationText, type Removable, runAblation } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { ablationCells, familiesOf } from '../src/ablation/ablation-cells.js';
import { ablationReport } from '../src/ablation/ablation-report.js';

describe('the ablation', () => {
  test('measures every rule in every cell, with two sets of seeds', async () => {
    const rules: readonly Removable[] = ['best size', 'forecast', 'all of adaptive'];
    let runs = 0;
    const report = await runAblation({
      extent: 'quick',
      workers: 0,
      rules,
      where: ({ curve, family, arrivals }) =>
        curve === 'worse past 24' &&
        family === 'poisson' &&
        'load' in arrivals &&
        [0.9, 1.3].includes(arrivals.load),
      onProgress: ({ total }) => {
        runs = total;
      },
    });
    expect(report.cells).toBe(2);
    expect(runs).toBe(2 * 2 * (1 + rules.length));
    expect(report.rules.map(({ rule }) => rule)).toEqual(rules);
    const [bestSize, , all] = report.rules;
    // Greedy dispatches the whole queue, and the large batches of this backend are slow.
    expect(all?.meanLatency.checking).toBeGreaterThan(5);
    expect(all?.goodput.checking).toBeLessThan(-5);
    expect(all?.gainsEnough).toBe(true);
    expect(bestSize?.latencyFamily?.tuning).toBeGreaterThan(0);
  });
});

describe('the required gain of a rule', () => {
  const cells = ablationCells('quick', 1);
  const target = (i: number) => cells[i]?.targetFactor !== undefined;

  /** In the cells of one family, removing the rule costs `percent` of mean latency and `points` of goodput. */
  function report(family: string, percent: readonly [number, number], points: readonly [number, number]) {
    const [tuning, checking] = [0, 1].map((set) => {
      const complete = cells.map(() => ({ meanMs: 10, goodput: 0.9 }));
      const without = cells.map((cell, i) => {
        if (!familiesOf(cell).includes(family)) return { meanMs: 10, goodput: 0.9 };
        return target(i)
          ? { meanMs: 99, goodput: 0.9 - (points[set] as number) / 100 }
          : { meanMs: 10 * (1 + (percent[set] as number) / 100), goodput: 0.1 };
      });
      return { cells, complete, without: new Map([['rule', without]]) };
    });
    return ablationReport('quick', tuning as never, checking as never);
  }

  test.each([
    ['half a percent in a family', 'closed', [0.6, 0.51], [0, 0], true],
    ['two points in a family', 'groups', [0, 0], [2.1, 2.5], true],
    ['half a percent with one set of seeds', 'closed', [0.9, 0.3], [0, 0], false],
    ['two points with one set of seeds', 'groups', [0, 0], [1.2, 5], false],
    ['nothing', 'closed', [0, 0], [0, 0], false],
    ['a loss', 'closed', [-5, -5], [-9, -9], false],
  ] as const)('%s: %s', (_what, family, percent, points, gainsEnough) => {
    expect(report(family, percent, points).rules).toMatchObject([{ rule: 'rule', gainsEnough }]);
  });

  test('is in the table, with the family', () => {
    const text = ablationText(report('closed', [12, 11], [0, 0]));
    expect(text).toMatch(/^rule .*\+12\.0 % +\+11\.0 % +closed .* yes$/m);
    expect(text).toMatch(/Every rule gains/);
    expect(ablationText(report('closed', [0, 0], [0, 0]))).toMatch(/Without the required gain.*: rule\.$/m);
  });

  test('is in the JSON', () => {
    expect(ablationJson(report('groups', [0, 0], [2.5, 3]))).toMatchObject({
      extent: 'quick',
      cells: cells.length,
      rules: [{ rule: 'rule', gains_enough: true, goodput_family: { family: 'groups' } }],
    });
  });
});
