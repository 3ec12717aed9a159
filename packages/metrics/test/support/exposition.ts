/**
 * A strict parser of the text exposition format 0.0.4. It rejects more than Prometheus does: lines out of order,
 * duplicate samples, histograms whose buckets do not add up.
 */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: Sample[];
}

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$/s;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/s;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(,|$)/sy;
const NUMBER = /^(?:[+-]Inf|NaN|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/;

export function parseExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  if (text === '') return families;
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const lines = text.slice(0, -1).split('\n');
  for (let i = 0; i < lines.length; ) {
    const [, name, help] = match(HELP, lines[i++]);
    const [, typed, type] = match(TYPE, lines[i++]);
    if (typed !== name) throw new Error(`HELP of ${name} is followed by TYPE of ${typed}`);
    if (families.has(name)) throw new Error(`${name} comes twice`);
    const family: Family = { name, help: unescaped(help), type, samples: [] };
    families.set(name, family);
    while (i < lines.length && !lines[i]?.startsWith('# ')) family.samples.push(sampleOf(lines[i++]));
    check(family);
  }
  return families;
}

/** The value of the sample with these labels and no others. */
export function sampleValue(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
  const wanted = Object.entries(labels);
  const found = family?.samples.find(
    (sample) =>
      sample.name === name &&
      sample.labels.size === wanted.length &&
      wanted.every(([label, value]) => sample.labels.get(label) === value),
  );
  return found?.value;
}

function sampleOf(line: string | undefined): Sample {
  const [, name, inBraces, number] = match(SAMPLE, line);
  if (!NUMBER.test(number)) throw new Error(`not a number: ${number}`);
  const labels = new Map<string, string>();
  LABEL.lastIndex = 0;
  while (inBraces !== undefined && LABEL.lastIndex < inBraces.length) {
    const found = LABEL.exec(inBraces);
    if (found === null) throw new Error(`malformed labels: ${inBraces}`);
    const [, label = '', value = ''] = found;
    if (labels.has(label)) throw new Error(`${label} comes twice in ${line}`);
    labels.set(label, unescaped(value));
  }
  return { name, labels, value: Number(number.replace('Inf', 'Infinity')) };
}

function check({ name, type, samples }: Family): void {
  if (samples.length === 0) throw new Error(`${name} has no samples`);
  const seen = new Set<string>();
  for (const sample of samples) {
    const key = JSON.stringify([sample.name, ...[...sample.labels].sort()]);
    if (seen.has(key)) throw new Error(`${key} comes twice`);
    seen.add(key);
    if (type !== 'histogram' && sample.name !== name) throw new Error(`${sample.name} among ${name}`);
    if (type !== 'gauge' && !(sample.value >= 0)) throw new Error(`${sample.name} is ${sample.value}`);
    if (type !== 'histogram' && sample.labels.has('le')) throw new Error(`${name} has a label le`);
  }
  if (type === 'counter' && !name.endsWith('_total')) throw new Error(`${name} does not end in _total`);
  if (type !== 'counter' && name.endsWith('_total')) throw new Error(`${name} ends in _total`);
  if (type === 'histogram') for (const series of seriesOf(samples).values()) checkHistogram(name, series);
}

/** The samples grouped by their labels except `le`. */
function seriesOf(samples: readonly Sample[]): Map<string, Sample[]> {
  const series = new Map<string, Sample[]>();
  for (const sample of samples) {
    const key = JSON.stringify([...sample.labels].filter(([label]) => label !== 'le'));
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  return series;
}

/** Buckets first, with ascending bounds and counts, infinity last; then the sum; then the count. */
function checkHistogram(name: string, series: readonly Sample[]): void {
  const count = series.at(-1);
  const sum = series.at(-2);
  const buckets = series.slice(0, -2);
  if (count?.name !== `${name}_count`) throw new Error(`${name} does not end with its count`);
  if (sum?.name !== `${name}_sum`) throw new Error(`${name} has no sum before its count`);
  if (buckets.at(-1)?.labels.get('le') !== '+Inf') throw new Error(`${name} has no last bucket`);
  if (buckets.at(-1)?.value !== count.value) throw new Error(`${name} does not add up`);
  let below = { bound: -Infinity, value: 0 };
  for (const { name: bucketName, labels, value } of buckets) {
    const bound = Number(labels.get('le')?.replace('Inf', 'Infinity'));
    if (bucketName !== `${name}_bucket`) throw new Error(`${bucketName} among the buckets of ${name}`);
    if (!(bound > below.bound)) throw new Error(`bounds of ${name} that do not rise: ${bound}`);
    if (!(value >= below.value)) throw new Error(`buckets of ${name} that shrink at ${bound}`);
    below = { bound, value };
  }
}

function unescaped(text: string): string {
  return text.replace(/\\(["\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}

function match(pattern: RegExp, line: string | undefined): [string, string, string, string] {
  const found = pattern.exec(line ?? '');
  if (found === null) throw new Error(`expected ${pattern}, got ${line}`);
  return found as unknown as [string, string, string, string];
}
