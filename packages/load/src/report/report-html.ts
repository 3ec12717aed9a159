/** The report as one HTML file that needs nothing else: to be shown to a colleague, mailed or printed. */
import {
  formatBatch,
  formatCount,
  formatMs,
  formatShare,
  formatTarget,
  html,
  type Markup,
  pageDocument,
} from '@batchwise/arena';
import { reportCharts } from './html-charts.js';
import { REPORT_STYLE } from './html-style.js';
import { batchSizesTable, failuresTable, latencyTable, requestsTable, verdictsTable } from './html-tables.js';
import type { LoadReport } from './load-report.js';
import { differsFromIntended, formatRate, formatSeconds, trafficText } from './notation.js';

export function reportHtml(report: LoadReport): string {
  const { target, verdicts, warnings, failures, batchSizes, total, state } = report;
  const title = `Load report: ${target}`;
  const body = html`<header class="top">
<h1>Load report <span class="quiet">${target}</span></h1>
<p class="lead">${trafficText(report.traffic)}, ${formatSeconds(report.seconds)}${state === 'ended' ? undefined : ` (${state})`}, ${startText(report)}.</p>
${tiles(report)}
${warnings.length === 0 ? undefined : html`<ul class="warnings">${warnings.map((text) => html`<li><strong>Warning:</strong> ${text}</li>`)}</ul>`}
</header>
<main>
${verdicts.length === 0 ? undefined : section('Verdict', verdictsTable(report))}
${section('Plots', html`<p class="quiet with-script">Point at a plot, or use the arrow keys, to read its values.</p>${reportCharts(report)}`)}
${section('Requests', requestsTable(report))}
${total.ok === 0 ? undefined : section('Latency', latencyTable(report))}
${batchSizes.length === 0 ? undefined : section('Batch sizes', batchSizesTable(report))}
${failures.length === 0 ? undefined : section('Failures and rejections', failuresTable(report))}
${section('How it was run', howTable(report))}
</main>
<footer><p>Written by <code>batchwise load --html</code>. This page is self-contained and loads no other files.</p></footer>`;
  return pageDocument(title, body, REPORT_STYLE);
}

function section(title: string, content: Markup): Markup {
  return html`<section>
<h2>${title}</h2>
${content}
</section>`;
}

/** In UTC, so that the same report gives the same page everywhere. */
function startText({ startedAt }: LoadReport): string {
  return `started ${startedAt.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}`;
}

function tile(name: string, value: string, note?: string, kind = ''): Markup {
  return html`<div class="${kind}"><dt>${name}</dt><dd>${value}${note === undefined ? undefined : html` <small>${note}</small>`}</dd></div>`;
}

function tiles(report: LoadReport): Markup {
  const { total, targetLatencyMs, verdicts } = report;
  const { count, ok, good, failed, rejected, latency, intended, meanBatchSize } = total;
  const share = (part: number) => (count === 0 ? '–' : formatShare(part / count));
  const broken = verdicts.filter(({ isBroken }) => isBroken).length;
  const within =
    targetLatencyMs === undefined ? 'Goodput' : `Goodput within ${formatTarget(targetLatencyMs)}`;
  const fromIntended = (name: 'p50' | 'p99') =>
    differsFromIntended(total) ? `intended ${formatMs(intended[name])}` : undefined;
  return html`<dl class="facts">
${tile(within, formatRate(total.goodPerSecond), `${share(good)} of ${formatCount(count)} requests`, 'headline')}
${verdicts.length === 0 ? undefined : tile('Verdict', broken === 0 ? 'passes' : 'fails', `${broken} of ${verdicts.length} rules apply`, broken === 0 ? 'all' : 'fails')}
${tile('Rate', formatRate(total.perSecond))}
${ok === 0 ? undefined : html`${tile('p50', formatMs(latency.p50), fromIntended('p50'))}${tile('p99', formatMs(latency.p99), fromIntended('p99'))}`}
${tile('Failed', share(failed), formatCount(failed), failed > 0 ? 'fails' : '')}
${tile('Rejected', share(rejected), formatCount(rejected))}
${meanBatchSize === undefined ? undefined : tile('Batch size', formatBatch(meanBatchSize), 'mean')}
</dl>`;
}

function howTable(report: LoadReport): Markup {
  const { target, traffic, seconds, targetLatencyMs, generator, arrivals } = report;
  const percent = (share: number) => `${Math.round(100 * share)} %`;
  const facts: (readonly [string, string])[] = [
    ['Target', target],
    [traffic.kind === 'users' ? 'Users (closed model)' : 'Arrivals (open model)', trafficText(traffic)],
    ['Started', startText(report).replace('started ', '')],
    ['Duration', formatSeconds(seconds)],
    [
      'Target latency',
      targetLatencyMs === undefined ? 'none: every ok request is good' : formatTarget(targetLatencyMs),
    ],
    ['Generator processes', String(generator.processes)],
    [
      'Generator CPU',
      `${percent(generator.meanCpuShare)} of a core on average, ${percent(generator.maxCpuShare)} at most`,
    ],
    ['Generator event loop', `blocked for at most ${Math.round(generator.maxEventLoopMs)} ms`],
  ];
  if (arrivals !== undefined) {
    const { sent, due, notSent, requestedPerSecond, achievedPerSecond } = arrivals;
    facts.push(
      [
        'Rate',
        `${formatRate(achievedPerSecond)} of ${formatRate(requestedPerSecond)} scheduled${arrivals.isKept ? '' : ' (not within 1 %)'}`,
      ],
      [
        'Arrivals',
        `${formatCount(sent)} of ${formatCount(due)} sent, ${formatCount(notSent)} could not be sent`,
      ],
    );
  }
  return html`<dl class="card how">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}
