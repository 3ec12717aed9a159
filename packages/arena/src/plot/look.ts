/**
 * Colours and markers of charts. Colours have contrast in light and dark mode and with colour blindness (tested), and
 * each line has its own marker as well. A page may set the `--plot-…` variables; attributes repeat the colours for
 * viewers without CSS variables.
 */
import { coordinate } from './markup.js';

/** Colours of lines in order; further lines repeat them with dashes. */
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

/** Attributes that set the colour of an element; its content uses `currentColor`. */
export function tone(name: Tone): { readonly class: string; readonly color: string } {
  return { class: `plot-${name}`, color: TONES[name].light };
}

/** Colour and marker of a line by number, or black without markers for a reference line. */
export type Look = number | 'reference';

/** Attributes that set the colour of a series. */
export function seriesColour(look: Look): { readonly class: string; readonly color: string } {
  if (look === 'reference') return tone('ink');
  const i = look % SERIES_COLOURS.length;
  return { class: `plot-series-${i + 1}`, color: (SERIES_COLOURS[i] as { light: string }).light };
}

/** Lines beyond the number of colours are dashed, so that no two look the same. */
export function seriesDash(look: Look, dashed: boolean): string | undefined {
  if (dashed) return '6 4';
  return look === 'reference' ? undefined : DASHES[Math.floor(look / SERIES_COLOURS.length) % DASHES.length];
}

const DASHES: readonly (string | undefined)[] = [undefined, '9 3 2 3', '2 3', '12 4'];

/** Path data of the marker of a series, centred at a point, about 7 pixels wide. */
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

/** The style of all charts; a page with several charts may include it once. */
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
