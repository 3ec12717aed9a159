import { describe, expect, test } from 'vitest';
import { liveTable } from '../src/report/live-table.js';
import type { LoadReport } from '../src/report/load-report.js';
import { progressLine } from '../src/report/progress-line.js';
import { reportHtml } from '../src/report/report-html.js';
import { reportJson } from '../src/report/report-json.js';
import { reportText } from '../src/report/report-text.js';
import { bar, sparkline } from '../src/report/text-bars.js';
import { widthOf } from '../src/report/text-table.js';
import { judge, parseThreshold } from '../src/report/threshold.js';
import { busyMinute, type ScriptedRequest, scriptedReport } from './support/scripted-report.js';

const MARKED = {
  heading: (text: string) => `<h>${text}</h>`,
  faint: (text: string) => `<f>${text}</f>`,
  good: (text: string) => `<g>${text}</g>`,
  bad: (text: string) => `<b>${text}</b>`,
};

/** Clears the screen, sets the title, reverses the text. */
const HOSTILE = 'a\x1b[2J\x1b]0;title\x07\u202e\n\u009bb';

const busy = busyMinute();
const batch = { batchSize: 4, queueMs: 2, computeMs: 5 };
const mixed: readonly ScriptedRequest[] = [
  ...Array.from({ length: 7 }, () => ({ ms: 10, outcome: batch })),
  { ms: 90, outcome: { ...batch, batchSize: 2 } },
  { ms: 1, outcome: { kind: 'rejected', reason: '429 Too Many Requests' } },
  { ms: 1, name: 'GET /labels', outcome: { kind: 'failed', reason: 'ECONNRESET' } },
];

function judged(report: LoadReport, ...rules: string[]): LoadReport {
  return { ...report, verdicts: judge(report, rules.map(parseThreshold)) };
}

describe('the report', () => {
  const report = scriptedReport({ seconds: [mixed, mixed], targetLatencyMs: 50 });

  test('begins with the goodput', () => {
    expect(reportText(report)).toMatch(/^Goodput 7\/s within 50 ms \(70 % of requests\)\n/);
    expect(reportText(scriptedReport({ seconds: [mixed] }))).toMatch(/^Goodput 8\/s \(80 % of requests\)\n/);
    expect(reportText(scriptedReport({ seconds: [] }))).toMatch(/^No request has ended\n/);
  });

  test('has a row for each name, and one for all where there are several', () => {
    const text = reportText(report);
    expect(text).toMatch(/POST \/classify +18 +9\/s +0 +2 \(11\.1 %\) +10\.0 ms +90\.0 ms/);
    expect(text).toMatch(/GET \/labels +2 +1\/s +2 \(100 %\) +0 +– +– +– +–/);
    expect(text).toMatch(/Aggregated +20 +10\/s +2 \(10 %\) +2 \(10 %\)/);
    expect(reportText(scriptedReport({ seconds: [[{ ms: 1 }]] }))).not.toContain('Aggregated');
  });

  test('has a second row from the intended start only where that differs', () => {
    expect(reportText(report)).not.toContain('intended');
    const stalled = scriptedReport({ seconds: [[{ ms: 10 }, { ms: 10, lateMs: 1000 }]] });
    expect(reportText(stalled)).toMatch(/from intended start +10\.0 ms +1,010 ms +1,010 ms +1,010 ms/);
  });

  test('splits the latency and shows the batch sizes', () => {
    const text = reportText(report);
    expect(text).toMatch(/queue +2\.00 ms/);
    expect(text).toMatch(/compute +5\.00 ms/);
    expect(text).toContain('Batch sizes (mean 3.8)');
    expect(text).toMatch(/\n {2}4 +14 +10\.0 ms +2\.00 ms +5\.00 ms +█{24}\n/);
    expect(text).toMatch(/\n {2}2 +2 +90\.0 ms/);
  });

  test('has no queue and compute times of batches where responses do not say them', () => {
    const sized = scriptedReport({ seconds: [[{ ms: 5, outcome: { batchSize: 3 } }]] });
    expect(reportText(sized)).toMatch(/size +requests +latency\n {2}3 +1 +5\.00 ms +█/);
    expect(JSON.parse(reportJson(sized)).batch_sizes).toMatchObject([{ size: 3, mean_queue_ms: null }]);
    expect(reportHtml(sized)).not.toContain('Compute');
  });

  test('says of how many requests the split is, where not of all', () => {
    const some = scriptedReport({ seconds: [[...mixed, { ms: 3 }]] });
    expect(reportText(some)).toContain('of 8 responses with these headers, of 9');
    expect(reportText(report)).not.toContain('responses that say it');
  });

  test('puts many batch sizes into ranges that lose no request', () => {
    const sizes = Array.from({ length: 100 }, (_, i) => ({ ms: 5, outcome: { batchSize: i + 1 } }));
    const rows = reportText(scriptedReport({ seconds: [sizes] })).matchAll(/\n {2}\d+–\d+ +(\d+) /g);
    const counts = [...rows].map(([, count]) => Number(count));
    expect(counts.length).toBeLessThanOrEqual(12);
    expect(counts.reduce((a, b) => a + b)).toBe(100);
  });

  test('lists failures and rejections', () => {
    expect(reportText(report)).toMatch(/429 Too Many Requests +POST \/classify +rejected +2\n/);
    expect(reportText(report)).toMatch(/ECONNRESET +GET \/labels +failed +2\n/);
  });

  test('has the verdicts at its end', () => {
    const text = reportText(
      judged(report, 'p99 > 50ms', 'error_rate > 20%', 'goodput < 1', 'batch_size < 2'),
      MARKED,
    );
    expect(text).toMatch(/<b>✗ fails <\/b> {2}p99 > 50ms +90\.0 ms\n/);
    expect(text).toMatch(/<g>✓ passes<\/g> {2}error_rate > 20% +10 %\n/);
    expect(text).toMatch(/goodput < 1 +7\/s\n/);
    expect(text).toMatch(/batch_size < 2 +3\.8\n$/);
    expect(reportText(judged(scriptedReport({ seconds: [] }), 'p99 > 1s'))).toContain('not measured');
  });

  test('warns before the figures that are doubtful', () => {
    const text = reportText(scriptedReport({ seconds: [mixed], cpuShare: 0.95, eventLoopMs: 80 }));
    expect(text.match(/^Warning: /gm)).toHaveLength(2);
    expect(text.indexOf('Warning:')).toBeLessThan(text.indexOf('Requests'));
    expect(text).toContain('CPU 95 % of a core on average');
  });

  test('says how many arrivals were sent', () => {
    const open = scriptedReport({
      seconds: [mixed],
      traffic: { kind: 'arrivals', text: 'poisson 15/s', perSecond: 15 },
      notSent: () => 5,
    });
    expect(reportText(open)).toContain('rate 10/s of 15/s scheduled: 10 of 15 arrivals sent, 5 not sent');
    expect(reportText(open)).toContain('poisson 15/s');
  });
});

describe('names and reasons', () => {
  const hostile = scriptedReport({
    seconds: [
      [
        { ms: 1, name: HOSTILE, outcome: { kind: 'failed', reason: HOSTILE } },
        { ms: 2, name: 'b' },
      ],
    ],
    target: HOSTILE,
  });

  test.each([
    ['the report', reportText(hostile)],
    ['the live table', liveTable(hostile, 120)],
    ['the progress line', progressLine(hostile)],
  ])('cannot control the terminal through %s', (_, text) => {
    expect(text).not.toMatch(/[\p{Cf}\p{Cs}]|(?!\n)\p{Cc}/u);
  });

  test('are shortened where they are long', () => {
    const long = scriptedReport({ seconds: [[{ ms: 1, name: 'x'.repeat(5000) }]] });
    expect(Math.max(...reportText(long).split('\n').map(widthOf))).toBeLessThan(150);
  });
});

describe('the live table', () => {
  const running: LoadReport = { ...busy, state: 'running' };

  test('has the last second, each name and the whole run', () => {
    const lines = liveTable(running, 120).split('\n');
    expect(lines[0]).toMatch(/^1:00 {2}Goodput \d+\/s within 50 ms \(/);
    expect(lines[1]).toMatch(/12 in flight .*25 arrivals not sent/);
    const rows = ['last second', 'POST /classify', 'GET /labels', 'whole run'];
    for (const row of rows) expect(lines.filter((line) => line.startsWith(row))).toHaveLength(1);
    expect(lines.at(-3)).toMatch(/^rate {2}[▁▂▃▄▅▆▇█]{60} {2}up to \d+\/s$/);
    expect(lines.at(-2)).toMatch(/× ECONNRESET$/);
  });

  test.each([200, 100, 80, 60, 40, 20, 5, 1])('fits a terminal of %i columns', (columns) => {
    const wide = scriptedReport({
      seconds: [[{ ms: 1, name: '漢字'.repeat(40) }, ...mixed]],
      target: '語'.repeat(90),
    });
    for (const report of [running, wide]) {
      const lines = liveTable(report, columns).split('\n');
      expect(lines.at(-1)).toBe('');
      for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(Math.max(1, columns - 1));
    }
  });

  test('shows users of a closed model', () => {
    expect(liveTable(scriptedReport({ seconds: [mixed], users: () => 1234 }), 80)).toContain('1,234 users');
  });

  test('takes the last second that every process has reported', () => {
    const seconds = [[{ ms: 1 }, { ms: 1 }], [{ ms: 1 }, { ms: 1 }, { ms: 1 }], [{ ms: 1 }]];
    const rate = (processes: number) =>
      progressLine(scriptedReport({ seconds, processes, state: 'running' })).split('  ')[1];
    expect(rate(1)).toBe('1/s');
    expect(rate(2)).toBe('3/s');
  });
});

test('the progress line has all in one line', () => {
  const report = scriptedReport({ seconds: [mixed, mixed], lasted: 125.4 });
  expect(progressLine(report)).toBe(
    '2:05  10/s  20 requests  2 failed  2 rejected  p50 10.0 ms  p95 90.0 ms  p99 90.0 ms  10 users  3 in flight  batch size 3.8',
  );
});

test('bars and curves are as long and as high as their values', () => {
  expect([0, 0.0001, 0.5, 1, 2].map((share) => bar(share, 4))).toEqual(['', '▏', '██', '████', '████']);
  expect(sparkline([9, 0, 1, 4, 8], 4)).toBe(' ▂▅█');
  expect(sparkline([], 4)).toBe('');
  expect(sparkline([1], 0)).toBe('');
});

describe('JSON', () => {
  const json = (report: LoadReport) => JSON.parse(reportJson(report));

  test('has snake_case keys in the same order for every run', () => {
    const keys = (value: unknown): string[] =>
      typeof value !== 'object' || value === null
        ? []
        : Array.isArray(value)
          ? value.flatMap(keys)
          : Object.entries(value).flatMap(([key, inside]) => [key, ...keys(inside)]);
    for (const key of keys(json(busy))) expect(key).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/);
    const top = Object.keys(json(busy));
    expect(Object.keys(json(scriptedReport({ seconds: [] })))).toEqual(top);
  });

  test('has all figures', () => {
    const report = judged(
      scriptedReport({ seconds: [mixed], targetLatencyMs: 50 }),
      'p99 > 50ms',
      'goodput < 1',
    );
    const read = json(report);
    expect(read).toMatchObject({
      version: 1,
      state: 'ended',
      target_latency_ms: 50,
      passes: false,
      traffic: { kind: 'users', users: 10, spawn_rate_per_second: 5 },
      total: { count: 10, ok: 8, good: 7, rejected: 1, failed: 1, good_share: 0.7, goodput_per_second: 7 },
      arrivals: null,
      generator: { processes: 1, mean_cpu_share: 0.31 },
    });
    expect(read.verdicts).toEqual([
      { rule: 'p99 > 50ms', value: expect.closeTo(90, 0), is_broken: true },
      { rule: 'goodput < 1', value: 7, is_broken: false },
    ]);
    expect(read.batch_sizes).toContainEqual({
      size: 4,
      requests: 7,
      mean_latency_ms: 10,
      mean_queue_ms: 2,
      mean_compute_ms: 5,
    });
    expect(read.series).toHaveLength(1);
    expect(read.series[0]).toMatchObject({ second: 0, ok: 8, users: 10, in_flight: 3, max_ms: 90 });
  });

  test('has null for what was not measured', () => {
    const none = json(judged(scriptedReport({ seconds: [] }), 'p99 > 1s'));
    expect(none.total.latency).toMatchObject({ count: 0, p99_ms: null });
    expect(none.total).toMatchObject({ good_share: null, mean_batch_size: null, queue: null });
    expect(none.verdicts).toEqual([{ rule: 'p99 > 1s', value: null, is_broken: true }]);
  });
});
