/** The figures of a run that goes on, as lines that are drawn over each other every second. */
import { formatBatch, formatCount, formatShare, type Palette, PLAIN } from '@batchwise/arena';
import type { SeriesPoint } from '../statistics/statistics.js';
import type { LoadReport, RequestFigures } from './load-report.js';
import { formatClock, formatLatency, formatRate, goodputText } from './notation.js';
import { latestSecond } from './plot-series.js';
import { printableText } from './printable-text.js';
import { sparkline } from './text-bars.js';
import { textTable, widthOf } from './text-table.js';

/** Names beyond these, of the most requests, are left to the report: the table has to fit the screen. */
const MOST_NAMES = 8;
const LONGEST_NAME = 28;
const WIDEST_SPARKLINE = 60;
/** Of this width the table has all of its columns. */
const TITLES = ['', 'rate', 'failed', 'rejected', 'p50', 'p95', 'p99', 'max', 'batch'];
/** Left out one after the other where the terminal is too narrow. */
const LEFT_OUT = ['max', 'batch', 'p95', 'rejected', 'p50'];

/** No line is wider than the terminal, because a line that wraps cannot be drawn over. Ends with a line break. */
export function liveTable(report: LoadReport, columns: number, palette: Palette = PLAIN): string {
  const width = Math.max(1, columns - 1);
  const [titles = '', ...rows] = fittingTable(report, width);
  const lines = [
    palette.heading(cut(headLine(report), width)),
    palette.faint(cut(gaugesLine(report), width)),
    '',
    palette.faint(cut(titles, width)),
    ...rows.map((row) => cut(row, width)),
    cut(rateLine(report, width), width),
  ];
  const failure = failureLine(report, width);
  if (failure !== undefined) lines.push(palette.bad(failure));
  return lines.map((line) => `${line}\n`).join('');
}

function headLine(report: LoadReport): string {
  const state = report.state === 'running' ? '' : `  ${report.state}`;
  return `${formatClock(report.seconds)}${state}  ${goodputText(report)}`;
}

function gaugesLine(report: LoadReport): string {
  const { traffic, arrivals, target } = report;
  const now = latestSecond(report);
  const parts = [
    ...(traffic.kind === 'users' ? [`${formatCount(now?.users ?? 0)} users`] : []),
    `${formatCount(now?.inFlight ?? 0)} in flight`,
    ...(arrivals !== undefined && arrivals.notSent > 0
      ? [`${formatCount(arrivals.notSent)} arrivals not sent`]
      : []),
    `generator CPU ${Math.round(100 * (now?.cpuShare ?? 0))} %`,
    printableText(target),
  ];
  return parts.join('   ');
}

function fittingTable(report: LoadReport, width: number): string[] {
  const rows = rowsOf(report);
  const leftOut = new Set<string>();
  for (const next of [...LEFT_OUT, undefined]) {
    const kept = TITLES.map((title, i) => ({ title, i })).filter(({ title }) => !leftOut.has(title));
    const lines = textTable(
      kept.map(({ title }) => title),
      rows.map((cells) => kept.map(({ i }) => cells[i] ?? '')),
    );
    if (next === undefined || lines.every((line) => widthOf(line) <= width)) return lines;
    leftOut.add(next);
  }
  return [];
}

function rowsOf(report: LoadReport): string[][] {
  const { total, requests } = report;
  const now = latestSecond(report);
  const named =
    requests.length > 1 ? requests.toSorted((a, b) => b.count - a.count).slice(0, MOST_NAMES) : [];
  return [
    ...(now === undefined ? [] : [secondCells(now)]),
    ...named.map((one) => figureCells(printableText(one.name, LONGEST_NAME), one)),
    figureCells('whole run', total),
  ];
}

function secondCells(now: SeriesPoint): string[] {
  const { ok, failed, rejected, p50Ms, p95Ms, p99Ms, maxMs, meanBatchSize } = now;
  const all = ok + failed + rejected;
  return [
    'last second',
    formatRate(all),
    share(failed, all),
    share(rejected, all),
    ...[p50Ms, p95Ms, p99Ms, maxMs].map((ms) => formatLatency(ms, ok)),
    batch(meanBatchSize),
  ];
}

function figureCells(name: string, figures: RequestFigures): string[] {
  const { count, perSecond, failed, rejected, latency, meanBatchSize } = figures;
  const { p50, p95, p99, max } = latency;
  return [
    name,
    formatRate(perSecond),
    share(failed, count),
    share(rejected, count),
    ...[p50, p95, p99, max].map((ms) => formatLatency(ms, latency.count)),
    batch(meanBatchSize),
  ];
}

function share(part: number, all: number): string {
  return all === 0 ? '–' : formatShare(part / all);
}

function batch(size: number | undefined): string {
  return size === undefined ? '–' : formatBatch(size);
}

/** The seconds that are complete. */
function rateLine(report: LoadReport, width: number): string {
  const last = latestSecond(report)?.second ?? -1;
  const rates = report.series
    .filter(({ second }) => second <= last)
    .map(({ ok, failed, rejected }) => ok + failed + rejected);
  const most = rates.reduce((a, b) => Math.max(a, b), 0);
  const words = `  up to ${formatRate(most)}`;
  const room = Math.min(WIDEST_SPARKLINE, width - 'rate  '.length - words.length);
  return `rate  ${sparkline(rates, room)}${words}`;
}

function failureLine({ failures }: LoadReport, width: number): string | undefined {
  const most = failures.find(({ kind }) => kind === 'failed');
  if (most === undefined) return undefined;
  return cut(`${formatCount(most.count)} × ${printableText(most.reason)}`, width);
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  for (const character of text) {
    if (widthOf(kept + character) > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
