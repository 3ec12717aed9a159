/** The tables of a report's page. On a phone, rows of texts become blocks, and tables of numbers scroll sideways. */
import { formatCount, formatMs, formatShare, html, type Markup } from '@batchwise/arena';
import type { Percentiles } from '../statistics/histogram.js';
import { batchRanges } from './batch-ranges.js';
import type { LoadReport, RequestFigures } from './load-report.js';
import { differsFromIntended, formatLatency, formatRate, formatVerdict } from './notation.js';

const MOST_BATCH_ROWS = 12;
/** A target that answers with a new reason each time would make a page of them. */
const MOST_FAILURE_ROWS = 200;

/** Wide, so it scrolls sideways where the screen is narrow. */
function numbersTable(name: string, head: readonly string[], rows: readonly Markup[]): Markup {
  return html`<div class="card table scrolls" tabindex="0" role="region" aria-label="${name}"><table>
<thead><tr>${head.map((title, i) => (i === 0 ? html`<th>${title}</th>` : html`<th class="number">${title}</th>`))}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function number(value: string): Markup {
  return html`<td class="number">${value}</td>`;
}

const LATENCIES = ['p50', 'p95', 'p99', 'max'] as const;

export function requestsTable({ requests, total }: LoadReport): Markup {
  const shown = requests.length === 1 ? requests : [...requests, total];
  const head = ['Name', 'Count', 'Rate', 'Failed', 'Rejected', ...LATENCIES];
  return numbersTable('Requests', head, shown.flatMap(requestRows));
}

function requestRows(figures: RequestFigures): Markup[] {
  const { name, count, perSecond, failed, rejected, latency, intended } = figures;
  const row = html`<tr><th scope="row">${name}</th>${number(formatCount(count))}${number(formatRate(perSecond))}${number(ofAll(failed, count))}${number(ofAll(rejected, count))}${latencyCells(latency)}</tr>
`;
  if (!differsFromIntended(figures)) return [row];
  return [
    row,
    html`<tr class="below"><th scope="row" class="quiet">from the intended start</th><td></td><td></td><td></td><td></td>${latencyCells(intended)}</tr>
`,
  ];
}

function latencyCells(figures: Percentiles): Markup[] {
  return LATENCIES.map((name) => number(formatLatency(figures[name], figures.count)));
}

function ofAll(part: number, all: number): string {
  return part === 0 ? '0' : `${formatCount(part)} (${formatShare(part / all)})`;
}

const ALL_LATENCIES = [
  ['mean', 'mean'],
  ['p50', 'p50'],
  ['p75', 'p75'],
  ['p90', 'p90'],
  ['p95', 'p95'],
  ['p99', 'p99'],
  ['p99.9', 'p999'],
  ['max', 'max'],
] as const satisfies readonly (readonly [string, keyof Percentiles])[];

/** Of all requests together: from both starts, and where the time goes. */
export function latencyTable({ total }: LoadReport): Markup {
  const { latency, intended, others, split } = total;
  const parts: (readonly [string, Percentiles | undefined])[] = [
    ['From the actual start', latency],
    ['From the intended start', differsFromIntended(total) ? intended : undefined],
    ['Network', split?.network],
    ['Queue', split?.queue],
    ['Compute', split?.compute],
    ['Rejected and failed requests', others],
  ];
  const rows = parts.flatMap(([name, figures]) => {
    if (figures === undefined || figures.count === 0) return [];
    const cells = ALL_LATENCIES.map(([, key]) => number(formatMs(figures[key])));
    return [
      html`<tr><th scope="row">${name}</th>${cells}</tr>
`,
    ];
  });
  return numbersTable('Latency', ['Latency', ...ALL_LATENCIES.map(([label]) => label)], rows);
}

export function batchSizesTable({ batchSizes, total }: LoadReport): Markup {
  const ranges = batchRanges(batchSizes, MOST_BATCH_ROWS);
  const all = ranges.reduce((sum, { requests }) => sum + requests, 0);
  const most = Math.max(...ranges.map(({ requests }) => requests));
  const hasSplit = total.split !== undefined;
  const rows = ranges.map(({ label, requests, latencyMs, queueMs, computeMs }) => {
    const width = ((100 * requests) / most).toFixed(1);
    return html`<tr><th scope="row">${label}</th
><td class="bar"><span><i style="width:${width}%"></i></span></td
>${number(formatCount(requests))}${number(formatShare(requests / all))}${number(formatMs(latencyMs))}${hasSplit ? [number(formatMs(queueMs)), number(formatMs(computeMs))] : undefined}</tr>
`;
  });
  const head = ['Size', '', 'Requests', 'Share', 'Latency', ...(hasSplit ? ['Queue', 'Compute'] : [])];
  return numbersTable('Batch sizes', head, rows);
}

export function failuresTable({ failures }: LoadReport): Markup {
  const rows = failures.slice(0, MOST_FAILURE_ROWS).map(({ name, kind, reason, count }) => {
    const badge = html`<span class="badge ${kind === 'failed' ? 'missed' : 'rejected'}">${kind}</span>`;
    return html`<tr><th scope="row">${reason}</th><td data-label="Request">${name}</td><td data-label="Kind"><span>${badge}</span></td><td class="number" data-label="Count">${formatCount(count)}</td></tr>
`;
  });
  const more = failures.length - rows.length;
  return html`<div class="card table"><table class="stacks">
<thead><tr><th>Reason</th><th>Request</th><th>Kind</th><th class="number">Count</th></tr></thead>
<tbody>${rows}</tbody></table></div>
${more > 0 ? html`<p class="quiet">And ${formatCount(more)} more reasons.</p>` : undefined}`;
}

export function verdictsTable({ verdicts }: LoadReport): Markup {
  const rows = verdicts.map((verdict) => {
    const badge = verdict.isBroken
      ? html`<span class="badge missed">✗ fails</span>`
      : html`<span class="badge reached">✓ passes</span>`;
    return html`<tr><th scope="row"><code>${verdict.rule}</code></th><td data-label="Measured">${formatVerdict(verdict)}</td><td class="verdict">${badge}</td></tr>
`;
  });
  return html`<div class="card table"><table class="stacks">
<thead><tr><th>The run fails if</th><th>Measured</th><th></th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}
