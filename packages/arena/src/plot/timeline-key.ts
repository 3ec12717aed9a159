/** The legend of a timeline, above it. */
import { type Block, PADDING, SMALL, text } from './frame.js';
import { type Look, seriesColour, tone } from './look.js';
import { element } from './markup.js';
import { textWidth } from './text-width.js';

const ROW_HEIGHT = 18;
const TEXT_AT = 20;
const GAP = 18;

export function timelineKey(id: string, look: Look, top: number, width: number): Block {
  const entries = [
    { name: 'batch, with its size', colour: seriesColour(look), fill: 'currentColor' },
    { name: 'held: a slot is free, items wait', colour: tone('ink'), fill: holdFill(id) },
  ];
  let x = PADDING;
  let y = top;
  const markup = entries.map(({ name, colour, fill }) => {
    const needed = TEXT_AT + textWidth(name, SMALL);
    if (x > PADDING && x + needed > width - PADDING) {
      x = PADDING;
      y += ROW_HEIGHT;
    }
    const swatch = element('rect', { x, y: y - 6, width: 14, height: 12, rx: 2, fill });
    const item = element('g', colour, swatch) + element('g', tone('ink'), text(name, x + TEXT_AT, y + 4));
    x += needed + GAP;
    return item;
  });
  return { markup: markup.join(''), bottom: y + 8 };
}

/** A hatch pattern, which differs from batches of any colour. */
export function hatchOfHolds(id: string): string {
  const stripes = element('path', { d: 'M0 0V6', stroke: 'currentColor', 'stroke-width': 3 });
  const pattern = element(
    'pattern',
    { id: `${id}-held`, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
    stripes,
  );
  return element('defs', {}, element('g', tone('ink'), pattern));
}

export function holdFill(id: string): string {
  return `url(#${id}-held)`;
}
