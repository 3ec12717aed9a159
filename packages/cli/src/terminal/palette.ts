/** Colours for terminals. */
import type { Palette } from '@batchwise/arena';
import { hasColours, type Output, type Terminal } from './terminal.js';

// Not `PLAIN` of the arena, because every command would load the arena for it.
const asIs = (text: string) => text;
const PLAIN: Palette = { heading: asIs, faint: asIs, good: asIs, bad: asIs };

const COLOURFUL: Palette = {
  heading: (text) => `\x1b[1m${text}\x1b[22m`,
  faint: (text) => `\x1b[2m${text}\x1b[22m`,
  good: (text) => `\x1b[1;32m${text}\x1b[22;39m`,
  bad: (text) => `\x1b[1;31m${text}\x1b[22;39m`,
};

export function paletteFor(output: Output, env: Terminal['env']): Palette {
  return hasColours(output, env) ? COLOURFUL : PLAIN;
}
