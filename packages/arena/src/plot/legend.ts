/** The legend: names of lines with a sample of each, in rows above the plot. */
import { type Block, line, PADDING, SMALL, text } from './frame.js';
import { type Look, markerPath, seriesColour, seriesDash, tone } from './look.js';
import { element } from './markup.js';
import { shortened, textWidth } from './text-width.js';

const SAMPLE_WIDTH = 26;
const ROW_HEIGHT = 18;
const GAP = 18;

interface LegendEntry {
  readonly name: string;
  readonly dashed?: boolean;
  readonly look?: Look;
  readonly emphasized?: boolean;
}

export function legend(entries: readonly LegendEntry[], top: number, width: number): Block {
  const room = width - 2 * PADDING;
  let x = PADDING;
  let y = top + ROW_HEIGHT / 2;
  const markup = entries.map((entry, i) => {
    const name = shortened(entry.name, room - SAMPLE_WIDTH - 6, SMALL);
    const needed = SAMPLE_WIDTH + 6 + textWidth(name, SMALL);
    if (x > PADDING && x + needed > width - PADDING) {
      x = PADDING;
      y += ROW_HEIGHT;
    }
    const weight = entry.emphasized ? 700 : 400;
    const item = [
      element('g', seriesColour(entry.look ?? i), sample(entry, entry.look ?? i, x, y)),
      element('g', tone('ink'), text(name, x + SAMPLE_WIDTH + 6, y + 4, { 'font-weight': weight })),
    ];
    x += needed + GAP;
    return item.join('');
  });
  return { markup: markup.join(''), bottom: y + ROW_HEIGHT / 2 };
}

function sample(
  { dashed = false, emphasized = false }: LegendEntry,
  look: Look,
  x: number,
  y: number,
): string {
  const dash = seriesDash(look, dashed);
  const stroke = {
    'stroke-width': emphasized ? '2.6' : '1.6',
    ...(dash ? { 'stroke-dasharray': dash } : {}),
  };
  const stretch = line(x, y, x + SAMPLE_WIDTH, y, stroke);
  if (dashed || look === 'reference') return stretch;
  return stretch + element('path', { d: markerPath(look, x + SAMPLE_WIDTH / 2, y), fill: 'currentColor' });
}
