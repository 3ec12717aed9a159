/** A plan as text: the answer, the expected figures, the limits, other loads, and the settings as source code. */
import type { Asked, Plan } from './plan.js';
import { loadTable } from './plan-load-table.js';
import {
  writtenBatch,
  writtenCount,
  writtenMs,
  writtenRate,
  writtenShare,
  writtenSlots,
  writtenTarget,
} from './plan-notation.js';
import { HOLDS_FROM, MOST_SLOTS } from './plan-request.js';
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
  const { asked, settings, expected, largest, loads } = plan;
  const sections = [palette.faint(backendLine(asked)), answerSection(plan, palette)];
  if (settings !== undefined) {
    if (expected !== undefined)
      sections.push(expectedSection(asked, settings.concurrency, expected, palette));
    sections.push(limitsSection(plan, settings.concurrency, palette));
    if (largest !== undefined) sections.push(loadTable(asked, largest.perSecond, loads, palette));
    sections.push(`${palette.heading('Settings')}\n\n${snippetOf(settings)}`);
  }
  return `${sections.join('\n\n')}\n`;
}

function backendLine({ curve, maxBatchSize, aloneMs, fullMs, noise }: Asked): string {
  const sizes =
    maxBatchSize === 1
      ? `batches of 1 take ${writtenMs(aloneMs)}`
      : `batches of 1 to ${maxBatchSize} take ${writtenMs(aloneMs)} to ${writtenMs(fullMs)}`;
  return `${curve}: ${sizes}, ${noise === 0 ? 'no noise' : `noise ${writtenShare(noise)}`}`;
}

function answerSection(plan: Plan, palette: Palette): string {
  const [word = '', ...rest] = wrapped(answerOf(plan), WIDTH).join('\n').split(':');
  const colour = plan.verdict.kind === 'holds' ? palette.good : palette.bad;
  return `${colour(`${word}:`)}${rest.join(':')}`;
}

function expectedSection(asked: Asked, slots: number, load: LoadResult, palette: Palette): string {
  const { meanMs, p50Ms, p99Ms, goodput, refused, meanBatchSize, batchesPerSecond, utilisation } = load;
  const requests = meanBatchSize === 1 ? 'request' : 'requests';
  return [
    palette.heading(`At ${writtenRate(load.perSecond)}`),
    row('latency', `mean ${writtenMs(meanMs)}   p50 ${writtenMs(p50Ms)}   p99 ${writtenMs(p99Ms)}`),
    row(
      'on time',
      `${writtenShare(goodput)} within ${writtenTarget(asked.targetMs)}, ${writtenShare(refused)} rejected`,
    ),
    row(
      'batches',
      `${writtenBatch(meanBatchSize)} ${requests} on average, ${writtenCount(batchesPerSecond)} batches/s`,
    ),
    row('backend', `${writtenSlots(slots)}, busy ${writtenShare(utilisation)} of the time`),
  ].join('\n');
}

function limitsSection({ asked, largest, slotsNeeded }: Plan, slots: number, palette: Palette): string {
  const rows = [palette.heading(`Limits of ${writtenSlots(slots)}`)];
  if (largest === undefined) rows.push(row('largest rate', 'none: the bursts are too large at any rate'));
  else {
    const { perSecond, meanMs, p99Ms, meanBatchSize } = largest;
    const times = `${writtenCount(perSecond / asked.perSecond)} × yours`;
    rows.push(
      row(
        'largest rate',
        `${writtenRate(perSecond)} (${times}) with ${writtenShare(HOLDS_FROM)} or more on time`,
      ),
      row(
        'at that rate',
        `mean ${writtenMs(meanMs)}   p99 ${writtenMs(p99Ms)}   batches of ${writtenBatch(meanBatchSize)}`,
      ),
    );
  }
  const needed = slotsNeeded === undefined ? `more than ${MOST_SLOTS} slots` : writtenSlots(slotsNeeded);
  rows.push(row('slots needed', `${needed} for ${writtenRate(asked.perSecond)}`));
  if (slots > 1 || (slotsNeeded ?? MOST_SLOTS) > 1)
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
