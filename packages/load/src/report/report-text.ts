/** The report of a run for a terminal: the goodput first, then what it is made of. */
import { formatBatch, formatCount, formatMs, formatShare, type Palette, PLAIN } from '@batchwise/arena';
import type { Percentiles } from '../statistics/histogram.js';
import { batchRanges } from './batch-ranges.js';
import type { LoadReport, RequestFigures } from './load-report.js';
import {
  differsFromIntended,
  formatLatency,
  formatRate,
  formatSeconds,
  formatVerdict,
  goodputText,
  trafficText,
} from './notation.js';
import { printableText } from './printable-text.js';
import { bar } from './text-bars.js';
import { textTable } from './text-table.js';

const LONGEST_NAME = 40;
const LONGEST_REASON = 100;
const MOST_BATCH_ROWS = 12;
const BAR_WIDTH = 24;
const MOST_FAILURE_ROWS = 20;

export function reportText(report: LoadReport, palette: Palette = PLAIN): string {
  const sections = [
    headSection(report, palette),
    warningsSection(report, palette),
    requestsSection(report, palette),
    splitSection(report.total, palette),
    batchesSection(report, palette),
    failuresSection(report, palette),
    generatorSection(report, palette),
    verdictsSection(report, palette),
  ];
  return `${sections.filter((section) => section !== undefined).join('\n\n')}\n`;
}

type Section = string | undefined;

function section(palette: Palette, title: string, lines: readonly string[]): Section {
  return lines.length === 0
    ? undefined
    : [palette.heading(title), ...lines.map((line) => `  ${line}`)].join('\n');
}

/** The first line of a table is its titles. */
function table(
  palette: Palette,
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  leftColumns = 1,
): string[] {
  const [head = '', ...lines] = textTable(titles, rows, leftColumns);
  return [palette.faint(head), ...lines];
}

function headSection(report: LoadReport, palette: Palette): Section {
  const { total, target, traffic, seconds, state } = report;
  const colour = total.good === total.count && total.count > 0 ? palette.good : palette.heading;
  const run = `${printableText(target)}, ${printableText(trafficText(traffic))}, ${formatSeconds(seconds)}`;
  return [colour(goodputText(report)), palette.faint(`${run}${state === 'ended' ? '' : `, ${state}`}`)].join(
    '\n',
  );
}

function warningsSection({ warnings }: LoadReport, palette: Palette): Section {
  if (warnings.length === 0) return undefined;
  return warnings.map((text) => `${palette.bad('Warning:')} ${printableText(text)}`).join('\n');
}

function requestsSection({ total, requests }: LoadReport, palette: Palette): Section {
  const shown = requests.length === 1 ? requests : [...requests, total];
  const hasIntended = shown.some(differsFromIntended);
  const titles = ['name', 'count', 'rate', 'failed', 'rejected', 'p50', 'p95', 'p99', 'max'];
  const rows = shown.flatMap((figures) => {
    const { name, count, perSecond, failed, rejected, latency, intended } = figures;
    const row = [
      printableText(name, LONGEST_NAME),
      formatCount(count),
      formatRate(perSecond),
      ofAll(failed, count),
      ofAll(rejected, count),
      ...latencies(latency),
    ];
    return hasIntended && differsFromIntended(figures)
      ? [row, ['  from intended start', '', '', '', '', ...latencies(intended)]]
      : [row];
  });
  return section(palette, 'Requests', table(palette, titles, rows));
}

function latencies({ count, p50, p95, p99, max }: Percentiles): string[] {
  return [p50, p95, p99, max].map((ms) => formatLatency(ms, count));
}

function ofAll(part: number, all: number): string {
  return part === 0 ? '0' : `${formatCount(part)} (${formatShare(part / all)})`;
}

function splitSection({ split, latency }: RequestFigures, palette: Palette): Section {
  if (split === undefined) return undefined;
  const all = split.network.mean + split.queue.mean + split.compute.mean;
  const rows = Object.entries(split).map(([part, figures]) => [
    part,
    formatMs(figures.mean),
    ...latencies(figures),
    `  ${bar(all === 0 ? 0 : figures.mean / all, BAR_WIDTH).padEnd(BAR_WIDTH)}`,
  ]);
  const some =
    split.queue.count < latency.count
      ? [
          `of ${formatCount(split.queue.count)} responses with these headers, of ${formatCount(latency.count)}`,
        ]
      : [];
  const lines = table(palette, ['part', 'mean', 'p50', 'p95', 'p99', 'max', ''], rows);
  return section(palette, 'Latency split', [...lines, ...some.map((line) => palette.faint(line))]);
}

function batchesSection({ batchSizes, total }: LoadReport, palette: Palette): Section {
  if (batchSizes.length === 0) return undefined;
  const ranges = batchRanges(batchSizes, MOST_BATCH_ROWS);
  const most = Math.max(...ranges.map(({ requests }) => requests));
  const hasSplit = total.split !== undefined;
  const rows = ranges.map(({ label, requests, latencyMs, queueMs, computeMs }) => [
    label,
    formatCount(requests),
    formatMs(latencyMs),
    ...(hasSplit ? [formatMs(queueMs), formatMs(computeMs)] : []),
    `  ${bar(requests / most, BAR_WIDTH).padEnd(BAR_WIDTH)}`,
  ]);
  return section(
    palette,
    `Batch sizes (mean ${formatBatch(total.meanBatchSize ?? Number.NaN)})`,
    table(palette, ['size', 'requests', 'latency', ...(hasSplit ? ['queue', 'compute'] : []), ''], rows),
  );
}

function failuresSection({ failures }: LoadReport, palette: Palette): Section {
  const shown = failures.slice(0, MOST_FAILURE_ROWS);
  if (shown.length === 0) return undefined;
  const rows = shown.map(({ reason, name, kind, count }) => [
    printableText(reason, LONGEST_REASON),
    printableText(name, LONGEST_NAME),
    kind,
    formatCount(count),
  ]);
  const lines = table(palette, ['reason', 'name', 'kind', 'count'], rows, 3);
  const more = failures.length - shown.length;
  if (more > 0) lines.push(palette.faint(`and ${formatCount(more)} more reasons`));
  return section(palette, 'Failures and rejections', lines);
}

function generatorSection({ generator, arrivals }: LoadReport, palette: Palette): Section {
  const { processes, meanCpuShare, maxCpuShare, maxEventLoopMs } = generator;
  const lines = [
    `${processes === 1 ? '1 process' : `${processes} processes`}, CPU ${percent(meanCpuShare)} of a core on average, ${percent(maxCpuShare)} at most`,
    `event loop blocked for at most ${Math.round(maxEventLoopMs)} ms`,
  ];
  if (arrivals !== undefined) {
    const { sent, due, notSent, requestedPerSecond, achievedPerSecond } = arrivals;
    lines.push(
      `rate ${formatRate(achievedPerSecond)} of ${formatRate(requestedPerSecond)} scheduled: ${formatCount(sent)} of ${formatCount(due)} arrivals sent, ${formatCount(notSent)} not sent`,
    );
  }
  return section(palette, 'Generator', lines);
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function verdictsSection({ verdicts }: LoadReport, palette: Palette): Section {
  const rows = verdicts.map((verdict) => [printableText(verdict.rule), formatVerdict(verdict)]);
  const [head = '', ...lines] = textTable(['the run fails if', 'measured'], rows);
  const words = verdicts.map(({ isBroken }) =>
    isBroken ? palette.bad('✗ fails ') : palette.good('✓ passes'),
  );
  return section(
    palette,
    'Verdict',
    verdicts.length === 0
      ? []
      : [
          palette.faint(`${' '.repeat('✓ passes'.length)}  ${head}`),
          ...lines.map((line, i) => `${words[i]}  ${line}`),
        ],
  );
}
