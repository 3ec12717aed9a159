/** Several processes as one: they answer, hang, die and are started again. */
import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MetricsSnapshot } from '../../src/metrics/metrics-snapshot.js';
import { ProcessMetrics, type WatchedProcess } from '../../src/metrics/process-metrics.js';
import { prometheusText } from '../../src/metrics/prometheus-text.js';
import { Registry } from '../../src/metrics/registry.js';
import { type Family, parseExposition, sampleValue } from './support/exposition.js';

/** A process with one metric of each kind. */
class FakeProcess {
  readonly #registry = new Registry();
  readonly #counter = this.#registry.counter({ name: 'done_total', help: 'D.', labels: ['x'] });
  readonly #seconds = this.#registry.histogram({
    name: 'took_seconds',
    help: 'T.',
    labels: ['x'],
    bounds: [0.5, 1],
    parts: 1e6,
  });
  readonly #queued = this.#registry.gauge({ name: 'queued', help: 'Q.', labels: [], rule: 'sum' });
  questions = 0;
  answer = async (): Promise<MetricsSnapshot> => this.snapshot();

  work(label: string, seconds: number): void {
    this.#counter.labels(label).inc();
    this.#seconds.labels(label).observe(seconds);
    this.#queued.labels().set(1);
  }

  snapshot = (): MetricsSnapshot => this.#registry.snapshot();

  ask = (): Promise<MetricsSnapshot> => {
    this.questions += 1;
    return this.answer();
  };
}

const read = (snapshot: MetricsSnapshot) => parseExposition(prometheusText(snapshot));
const hangs = () => new Promise<never>(() => {});

function supervised(clock = new VirtualClock()) {
  const own = new FakeProcess();
  return { clock, own, metrics: new ProcessMetrics({ own: own.snapshot, clock, deadlineMs: 1000 }) };
}

function add(metrics: ProcessMetrics): { fake: FakeProcess; watched: WatchedProcess } {
  const fake = new FakeProcess();
  return { fake, watched: metrics.add(fake.ask) };
}

test('all that answer are added up, with the process that asks', async () => {
  const { own, metrics, clock } = supervised();
  own.work('a', 0.1);
  for (let i = 0; i < 3; i++) add(metrics).fake.work('a', 0.7);
  const families = read(await metrics.collect());
  expect(sampleValue(families, 'done_total', { x: 'a' })).toBe(4);
  expect(sampleValue(families, 'took_seconds_sum', { x: 'a' })).toBe(2.2);
  expect(sampleValue(families, 'queued')).toBe(4);
  expect(clock.pendingTimers).toBe(0);
});

test('what a dead process has counted stays, what it held does not', async () => {
  const { metrics } = supervised();
  const { fake, watched } = add(metrics);
  fake.work('a', 0.7);
  await metrics.collect();
  watched.retire();
  watched.retire();
  const families = read(await metrics.collect());
  expect(sampleValue(families, 'done_total', { x: 'a' })).toBe(1);
  expect(sampleValue(families, 'took_seconds_count', { x: 'a' })).toBe(1);
  expect(families.has('queued')).toBe(false);
});

test('what a process says before it ends is kept, what comes after is not', async () => {
  const { metrics } = supervised();
  const { fake, watched } = add(metrics);
  fake.work('a', 0.7);
  watched.update(fake.snapshot());
  watched.retire();
  fake.work('a', 0.7);
  watched.update(fake.snapshot());
  expect(sampleValue(read(await metrics.collect()), 'done_total', { x: 'a' })).toBe(1);
});

test('who does not answer in time is shown as it was, and is not asked again until it has answered', async () => {
  const { metrics, clock } = supervised();
  const { fake: quick } = add(metrics);
  const { fake: slow } = add(metrics);
  quick.work('a', 0.1);
  slow.work('a', 0.1);
  await metrics.collect();

  const answers: (() => void)[] = [];
  slow.answer = () => new Promise((resolve) => answers.push(() => resolve(slow.snapshot())));
  quick.work('a', 0.1);
  slow.work('a', 0.1);
  for (let i = 0; i < 2; i++) {
    let done = false;
    const collecting = metrics.collect().finally(() => {
      done = true;
    });
    await clock.advance(999);
    expect(done).toBe(false);
    await clock.advance(1);
    expect(sampleValue(read(await collecting), 'done_total', { x: 'a' })).toBe(3);
  }
  expect(slow.questions).toBe(2);

  for (const answer of answers) answer();
  slow.answer = async () => slow.snapshot();
  await clock.settle();
  expect(sampleValue(read(metrics.latest()), 'done_total', { x: 'a' })).toBe(4);
  await metrics.collect();
  expect(slow.questions).toBe(3);
});

test('a process that fails to answer, in whatever way, does not keep the others from being shown', async () => {
  const { metrics } = supervised();
  const { fake: rejecting } = add(metrics);
  const { fake: throwing } = add(metrics);
  const { fake: fine } = add(metrics);
  rejecting.answer = () => Promise.reject(new Error('gone'));
  throwing.answer = () => {
    throw new Error('no channel');
  };
  fine.work('a', 0.1);
  expect(sampleValue(read(await metrics.collect()), 'done_total', { x: 'a' })).toBe(1);
});

test('a process that dies while it is asked is not waited for', async () => {
  const { metrics } = supervised();
  const { fake, watched } = add(metrics);
  fake.answer = hangs;
  const collecting = metrics.collect();
  watched.retire();
  await collecting;
});

test('those who ask at the same time share one answer', async () => {
  const { metrics } = supervised();
  const { fake } = add(metrics);
  const [one, two] = await Promise.all([metrics.collect(), metrics.collect()]);
  expect(two).toBe(one);
  expect(fake.questions).toBe(1);
  await metrics.collect();
  expect(fake.questions).toBe(2);
});

// Fractions come to more or less by a trace in another order, and a dead process is added in another place:
// to Prometheus a sum that is less by a trace has been set back.
test('a death does not make a sum of fractions smaller', async () => {
  const { metrics } = supervised();
  const [first, ...others] = [1 / 300, 1 / 300, 5 / 300].map((seconds) => {
    const added = add(metrics);
    added.fake.work('a', seconds);
    return added;
  });
  expect(others).toHaveLength(2);
  const sum = async () => sampleValue(read(await metrics.collect()), 'took_seconds_sum', { x: 'a' });
  const before = await sum();
  first?.watched.retire();
  expect(await sum()).toBe(before);
});

type Step = { what: 'work' | 'hang' | 'die' | 'start' | 'look'; who: number; seconds: number };

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('work', 'work', 'work', 'hang', 'die', 'start', 'look'),
  who: fc.nat({ max: 4 }),
  seconds: fc.double({ min: 0, max: 2, noNaN: true }),
});

/** Every number that must never go back. */
function totals(families: ReadonlyMap<string, Family>): Map<string, number> {
  const samples = [...families.values()].filter(({ type }) => type !== 'gauge').flatMap((f) => f.samples);
  return new Map(samples.map(({ name, labels, value }) => [JSON.stringify([name, ...labels]), value]));
}

test('no counter ever goes back, whoever works, hangs, dies or is started again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { metrics, clock } = supervised();
      const processes = Array.from({ length: 3 }, () => add(metrics));
      let shown = new Map<string, number>();
      for (const { what, who, seconds } of [...steps, { what: 'look' } as Step]) {
        const at = who % Math.max(1, processes.length);
        const process = processes[at];
        if (what === 'work') process?.fake.work(`${who}`, seconds);
        if (what === 'hang' && process) process.fake.answer = hangs;
        if (what === 'die') processes.splice(at, 1)[0]?.watched.retire();
        if (what === 'start') processes.push(add(metrics));
        if (what !== 'look') continue;
        const collecting = metrics.collect();
        await clock.advance(1000);
        const now = totals(read(await collecting));
        for (const [key, value] of shown) expect(now.get(key), key).toBeGreaterThanOrEqual(value);
        shown = now;
      }
    }),
    { numRuns: 50 },
  );
});
