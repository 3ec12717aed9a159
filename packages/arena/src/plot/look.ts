/**
 * How plots look. Colours hold in light and dark and for the colour-blind (a test measures it), and no line
 * is told from another by colour alone: each has a marker of its own. A page may set the `--plot-…`
 * variables; attributes repeat the colours for viewers that know no variables.
 */
import { coordinate } from './markup.js';

/** One for each line, then from the start again with dashes. The first is the one to look at. */
export const SERIES_COLOURS: readonly { readonly light: string; readonly dark: string }[] = [
  { light: '#0a54d6', dark: '#6ba6ff' },
  { light: '#bd3d05', dark: '#ff8a33' },
  { light: '#078a7d', dark: '#1f9e96' },
  { light: '#93309f', dark: '#a463ea' },
  { light: '#b08d22', dark: '#f7e463' },
  { light: '#2b98e0', dark: '#98efff' },
  { light: '#6b2414', dark: '#dd5a52' },
  { light: '#475063', dark: '#aeb8ae' },
];

const TONES = {
  ink: { light: '#1d2430', dark: '#e8ecf2' },
  soft: { light: '#5a6473', dark: '#a3adba' },
  grid: { light: '#e3e7ec', dark: '#2c333d' },
  paper: { light: '#ffffff', dark: '#15191f' },
} as const;

type Tone = keyof typeof TONES;

export const FONT =
  "ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/** Attributes that give an element a tone; its parts are painted in `currentColor`. */
export function tone(name: Tone): { readonly class: string; readonly color: string } {
  return { class: `plot-${name}`, color: TONES[name].light };
}

/** Colour and marker of a line by number; or plain ink without markers, for what the others are compared to. */
export type Look = number | 'reference';

/** Attributes that give an element the colour of a series. */
export function seriesColour(look: Look): { readonly class: string; readonly color: string } {
  if (look === 'reference') return tone('ink');
  const i = look % SERIES_COLOURS.length;
  return { class: `plot-series-${i + 1}`, color: (SERIES_COLOURS[i] as { light: string }).light };
}

/** Once round the colours, lines come dashed, so that no two look alike. */
export function seriesDash(look: Look, dashed: boolean): string | undefined {
  if (dashed) return '6 4';
  return look === 'reference' ? undefined : DASHES[Math.floor(look / SERIES_COLOURS.length) % DASHES.length];
}

const DASHES: readonly (string | undefined)[] = [undefined, '9 3 2 3', '2 3', '12 4'];

/** A marker with its middle at this point, about 7 pixels wide, as the data of a path; each look has its own. */
export function markerPath(look: number, x: number, y: number): string {
  return `M${coordinate(x)} ${coordinate(y)}${MARKERS[look % MARKERS.length]}`;
}

const MARKERS = [
  'm-3.2 0a3.2 3.2 0 1 1 6.4 0a3.2 3.2 0 1 1-6.4 0z',
  'm-2.9-2.9h5.8v5.8h-5.8z',
  'm0-3.9l3.7 6.6h-7.4z',
  'm0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z',
  'm0 3.9l3.7-6.6h-7.4z',
  'm-1.2-3.8h2.4v2.6h2.6v2.4h-2.6v2.6h-2.4v-2.6h-2.6v-2.4h2.6z',
  'm-3.9 0l6.6-3.7v7.4z',
  'm3.9 0l-6.6-3.7v7.4z',
];

/** The rules all plots share. A page with many of them may hold them once. */
export const PLOT_STYLE: string = [
  `.plot{font-family:${FONT};font-variant-numeric:tabular-nums}`,
  ...rules('light'),
  `@media screen and (prefers-color-scheme:dark){${rules('dark').join('')}}`,
].join('');

function rules(scheme: 'light' | 'dark'): string[] {
  const named = Object.entries(TONES).map(([name, colours]) => [name, colours[scheme]] as const);
  const numbered = SERIES_COLOURS.map((colours, i) => [`series-${i + 1}`, colours[scheme]] as const);
  return [...named, ...numbered].map(
    ([name, colour]) => `.plot .plot-${name}{color:var(--plot-${name},${colour})}`,
  );
}
