/** A plan as text: the answer, the expected figures, the limits, other loads, and the settings as source code. */
import type { Plan, PlanInput } from './plan.js';
import { loadTable } from './plan-load-table.js';
import {
  formatBatch,
  formatCount,
  formatMs,
  formatRate,
  formatShare,
  formatSlots,
  formatTarget,
} from './plan-notation.js';
import { HOLDS_FROM, MAX_SLOTS } from './plan-request.js';
import { snippetOf } from './plan-settings.js';
import type { LoadResult } from './plan-trial.js';
import { answerOf } from './plan-verdict.js';

/** Styles of a terminal; `PLAIN` for files. */
export interface Palette {
  heading(text: string): string;
  faint(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

export const PLAIN: Palette = {
  heading: (text) => text,
  faint: (text) => text,
  good: (text) => text,
  bad: (text) => text,
};

const WIDTH = 80;
const LABEL_WIDTH = 15;

export function planText(plan: Plan, palette: Palette = PLAIN): string {
  const { input, settings, expected, largest, loads } = plan;
  const sections = [palette.faint(backendLine(input)), answerSection(plan, palette)];
  if (settings !== undefined) {
    if (expected !== undefined)
      sections.push(expectedSection(input, settings.concurrency, expected, palette));
    sections.push(limitsSection(plan, settings.concurrency, palette));
    if (largest !== undefined) sections.push(loadTable(input, largest.perSecond, loads, palette));
    sections.push(`${palette.heading('Settings')}\n\n${snippetOf(settings)}`);
  }
  return `${sections.join('\n\n')}\n`;
}

function backendLine({ curve, maxBatchSize, aloneMs, fullMs, noise }: PlanInput): string {
  const sizes =
    maxBatchSize === 1
      ? `batches of 1 take ${formatMs(aloneMs)}`
      : `batches of 1 to ${maxBatchSize} take ${formatMs(aloneMs)} to ${formatMs(fullMs)}`;
  return `${curve}: ${sizes}, ${noise === 0 ? 'no noise' : `noise ${formatShare(noise)}`}`;
}

function answerSection(plan: Plan, palette: Palette): string {
  const [word = '', ...rest] = wrapped(answerOf(plan), WIDTH).join('\n').split(':');
  const colour = plan.verdict.kind === 'holds' ? palette.good : palette.bad;
  return `${colour(`${word}:`)}${rest.join(':')}`;
}

function expectedSection(input: PlanInput, slots: number, load: LoadResult, palette: Palette): string {
  const { meanMs, p50Ms, p99Ms, goodput, refused, meanBatchSize, batchesPerSecond, utilisation } = load;
  const requests = meanBatchSize === 1 ? 'request' : 'requests';
  return [
    palette.heading(`At ${formatRate(load.perSecond)}`),
    row('latency', `mean ${formatMs(meanMs)}   p50 ${formatMs(p50Ms)}   p99 ${formatMs(p99Ms)}`),
    row(
      'on time',
      `${formatShare(goodput)} within ${formatTarget(input.targetLatencyMs)}, ${formatShare(refused)} rejected`,
    ),
    row(
      'batches',
      `${formatBatch(meanBatchSize)} ${requests} on average, ${formatCount(batchesPerSecond)} batches/s`,
    ),
    row('backend', `${formatSlots(slots)}, busy ${formatShare(utilisation)} of the time`),
  ].join('\n');
}

function limitsSection({ input, largest, slotsNeeded }: Plan, slots: number, palette: Palette): string {
  const rows = [palette.heading(`Limits of ${formatSlots(slots)}`)];
  if (largest === undefined) rows.push(row('largest rate', 'none: the bursts are too large at any rate'));
  else {
    const { perSecond, meanMs, p99Ms, meanBatchSize } = largest;
    const times = `${formatCount(perSecond / input.perSecond)} × yours`;
    rows.push(
      row(
        'largest rate',
        `${formatRate(perSecond)} (${times}) with ${formatShare(HOLDS_FROM)} or more on time`,
      ),
      row(
        'at that rate',
        `mean ${formatMs(meanMs)}   p99 ${formatMs(p99Ms)}   batches of ${formatBatch(meanBatchSize)}`,
      ),
    );
  }
  const needed = slotsNeeded === undefined ? `more than ${MAX_SLOTS} slots` : formatSlots(slotsNeeded);
  rows.push(row('slots needed', `${needed} for ${formatRate(input.perSecond)}`));
  if (slots > 1 || (slotsNeeded ?? MAX_SLOTS) > 1)
    rows.push(row('', palette.faint('(a slot runs one batch at a time, at full speed)')));
  return rows.join('\n');
}

function row(label: string, text: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${text}`;
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
