import { describe, expect, test } from 'vitest';
import { plotSeries } from '../src/report/plot-series.js';
import { reportHtml } from '../src/report/report-html.js';
import { judge, parseThreshold } from '../src/report/threshold.js';
import { busyMinute, scriptedReport } from './support/scripted-report.js';

const busy = busyMinute();
const HOSTILE = `</style></script><script>alert(1)</script><img src="http://localhost/x" onerror='alert(2)'>&`;

const titles = (page: string) => [...page.matchAll(/<h2>(.*?)<\/h2>/g)].map(([, title]) => title);
/** Without the script. */
const shown = (page: string) => page.replace(/<script>.*<\/script>/s, '');

describe('the page', () => {
  test('has every section and every plot of a run that has the figures', () => {
    const verdicts = judge(busy, [parseThreshold('p99 > 1ms')]);
    const page = reportHtml({ ...busy, verdicts });
    expect(titles(page)).toEqual([
      'Verdict',
      'Plots',
      'Requests',
      'Latency',
      'Batch sizes',
      'Failures and rejections',
      'How it was run',
    ]);
    expect(page.match(/data-readout=/g)).toHaveLength(2 * 8);
    for (const text of ['Goodput within 50 ms', '✗ fails', 'target: 50 ms', '99.9 %', 'ramp 40/s to 200/s']) {
      expect(page).toContain(text);
    }
  });

  test('leaves out what a run has no figures for', () => {
    const page = reportHtml(scriptedReport({ seconds: [[{ ms: 1 }], [{ ms: 2 }]] }));
    expect(titles(page)).toEqual(['Plots', 'Requests', 'Latency', 'How it was run']);
    expect(page.match(/data-readout=/g)).toHaveLength(2 * 4);
    expect(page).not.toContain('intended');
    expect(shown(page)).not.toMatch(/NaN|undefined|Infinity/);
  });

  test('can be made of a run without requests', () => {
    expect(shown(reportHtml(scriptedReport({ seconds: [] })))).not.toMatch(/NaN|undefined|Infinity/);
  });

  test('refers to nothing outside itself', () => {
    const page = reportHtml(busy);
    const references = [
      ...page.matchAll(/\b(?:src|href|action|srcset|data)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import/g),
    ];
    expect(references.map(([text]) => text)).toEqual(['href="data:,"']);
    expect(page).toContain(`default-src &#39;none&#39;`);
  });

  test('escapes what targets and scenarios say', () => {
    const request = { ms: 1, name: HOSTILE };
    const failed = { kind: 'failed', reason: HOSTILE } as const;
    const report = scriptedReport({
      seconds: [[request, { ...request, outcome: failed }]],
      target: HOSTILE,
      traffic: { kind: 'arrivals', text: HOSTILE },
    });
    const page = reportHtml({
      ...report,
      warnings: [HOSTILE],
      verdicts: [{ rule: HOSTILE, value: 1, isBroken: false }],
    });
    expect(page).not.toContain('<img');
    expect(page).not.toContain('alert(1)</script>');
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page.match(/<\/style>/g)).toHaveLength(1);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  test('stays small for a long run, and says what a point is', () => {
    const report = scriptedReport({ seconds: Array.from({ length: 900 }, () => []) });
    const page = reportHtml(report);
    expect(page).toContain('Each point is 5 s');
    expect(page).toContain('time (min)');
    expect(page.length).toBeLessThan(500_000);
  });
});

describe('points of a plot', () => {
  test('have rates per second also where the last second is cut short', () => {
    const second = Array.from({ length: 10 }, () => ({ ms: 1 }));
    const rates = (lasted: number, last: number) =>
      plotSeries(scriptedReport({ seconds: [second, second.slice(0, last)], lasted })).points.map(
        ({ perSecond }) => perSecond,
      );
    expect(rates(2, 10)).toEqual([10, 10]);
    expect(rates(1.5, 5)).toEqual([10, 10]);
    expect(rates(1.1, 1)).toEqual([10]);
    // Responses that come after the end of the run.
    expect(rates(1, 3)).toEqual([10, 3]);
  });

  test('have the mean rate and the highest percentile of their seconds', () => {
    const seconds = Array.from({ length: 360 }, (_, i) => [
      { ms: i % 2 === 0 ? 5 : 50 },
      ...(i % 2 ? [] : [{ ms: 5 }]),
    ]);
    const { points, secondsPerPoint } = plotSeries(scriptedReport({ seconds }));
    expect(secondsPerPoint).toBe(2);
    expect(points).toHaveLength(180);
    expect(new Set(points.map(({ perSecond }) => perSecond))).toEqual(new Set([1.5]));
    for (const { p99Ms } of points) expect(p99Ms).toBeCloseTo(50, 0);
  });

  test('have gaps where no request was ok', () => {
    const { points } = plotSeries(scriptedReport({ seconds: [[{ ms: 3 }], []] }));
    expect(points.map(({ p50Ms }) => Number.isNaN(p50Ms))).toEqual([false, true]);
  });
});
