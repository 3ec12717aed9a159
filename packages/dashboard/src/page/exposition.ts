/** What Prometheus would read: the samples of a text in its format, by their names. */

export interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

export type Exposition = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(.)/g;

/** Lines that are none of it are passed over. */
export function parseExposition(text: string): Exposition {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const found = LINE.exec(line);
    if (found === null) continue;
    const [, name = '', labels = '', value = ''] = found;
    const sample = { labels: labelsOf(labels), value: numberOf(value) };
    const known = samples.get(name);
    if (known === undefined) samples.set(name, [sample]);
    else known.push(sample);
  }
  return samples;
}

/** `+Inf` is what the last bucket of a histogram is called, too. */
export function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

function labelsOf(text: string): Map<string, string> {
  const labels = new Map<string, string>();
  for (const [, name = '', value = ''] of text.matchAll(LABEL)) {
    labels.set(
      name,
      value.replace(ESCAPED, (_, character: string) => (character === 'n' ? '\n' : character)),
    );
  }
  return labels;
}
