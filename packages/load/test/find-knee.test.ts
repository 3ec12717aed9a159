/** The knee search on simulated servers with known knees, on virtual time. */
import { describe, expect, test } from 'vitest';
import { findKnee, type Knee, type KneeOptions } from '../src/search/find-knee.js';
import { kneeChart } from '../src/search/knee-chart.js';
import { kneeJson } from '../src/search/knee-json.js';
import { kneeText } from '../src/search/knee-text.js';
import { batchServer, exponentialServer, fixedServer } from './support/queues.js';
import {
  arrivalsOf,
  type Server,
  type SimulatedGenerator,
  SimulatedRuns,
  SteppingClock,
} from './support/simulated-runs.js';

interface Search {
  readonly knee: Knee;
  readonly runs: SimulatedRuns;
}

async function search(
  server: Server,
  options: Partial<KneeOptions>,
  generator: SimulatedGenerator = {},
): Promise<Search> {
  const clock = new SteppingClock();
  const { seed = 1 } = options;
  const runs = new SimulatedRuns(clock, server, 1000 * seed, generator);
  const { startRun } = runs;
  const target = { url: 'http://127.0.0.1:1/' };
  const knee = await findKnee({
    startRun,
    clock,
    target,
    targetLatencyMs: 20,
    secondsPerStep: 5,
    ...options,
  });
  return { knee, runs };
}

/** The rate at which exactly 99 % are within the target, from very long runs. */
function referenceKnee(server: Server, targetLatencyMs: number, low: number, high: number): number {
  let [from, to] = [low, high];
  while (to / from > 1.002) {
    const perSecond = Math.sqrt(from * to);
    const arrivals = arrivalsOf({
      work: { kind: 'scenario', file: '' },
      traffic: { kind: 'arrivals', schedule: { kind: 'poisson', perSecond }, maxInFlight: 1 },
      seconds: 200_000 / perSecond,
      seed: 99,
    });
    const served = server(arrivals, () => 0.5, { work: { kind: 'scenario', file: '' } } as never);
    const misses = served.filter(
      ({ endedAt }, i) => endedAt - (arrivals[i] as number) > targetLatencyMs,
    ).length;
    if (misses <= 0.01 * arrivals.length) from = perSecond;
    else to = perSecond;
  }
  return from;
}

describe('a knee search', () => {
  test('finds the knee of an M/M/1 queue within 5 %, with every seed', async () => {
    // The time in an M/M/1 queue is exponential with rate µ − λ: 1 % are above t where λ = µ − ln(100) / t.
    const truth = 1000 - Math.log(100) / 0.02;
    let squares = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const { knee } = await search(exponentialServer(1), { seed, from: 100 });
      expect(knee).toMatchObject({ kind: 'found', isConfirmed: true });
      const error = (knee.rate as number) / truth - 1;
      expect(Math.abs(error), `seed ${seed}`).toBeLessThan(0.05);
      squares += error * error;
      const [low, high] = knee.interval as readonly [number, number];
      expect(low < truth && truth < high, `interval of seed ${seed}`).toBe(true);
    }
    expect(Math.sqrt(squares / 12)).toBeLessThan(0.025);
  });

  test('finds the knee of a server with batches within 5 %', async () => {
    const server = batchServer(16, (size) => 4 + 0.5 * size);
    const truth = referenceKnee(server, 30, 400, 1400);
    for (let seed = 1; seed <= 4; seed++) {
      const { knee } = await search(server, { seed, from: 300, targetLatencyMs: 30 });
      expect(Math.abs((knee.rate as number) / truth - 1), `seed ${seed}`).toBeLessThan(0.05);
    }
  });

  test('plays the same arrivals in all probes, one probe at a time', async () => {
    const { knee, runs } = await search(fixedServer(1), { seed: 7, from: 200 });
    expect(new Set(runs.specs.map(({ seed }) => seed))).toEqual(new Set([7]));
    expect(runs.specs).toHaveLength(knee.probes.length);
    expect(runs.inFlightAtStart).toBe(0);
  });

  test('ends a probe at once when the target is overloaded or does not answer', async () => {
    const { knee } = await search(fixedServer(1), { from: 400, to: 100_000 });
    const overloaded = knee.probes.filter(({ perSecond }) => perSecond > 1300);
    expect(overloaded.length).toBeGreaterThan(0);
    for (const probe of overloaded) expect(probe).toMatchObject({ meets: false, isClear: true, seconds: 2 });
    const silent = await search(
      (arrivals) => arrivals.map((at) => ({ endedAt: at + 60_000, kind: 'failed' })),
      {
        from: 100,
      },
    );
    expect(silent.knee.probes.map(({ seconds }) => seconds)).toEqual([3, 3]);
  });

  test('a target that misses at the lowest rate is below', async () => {
    const { knee } = await search(fixedServer(30), { from: 5 });
    expect(knee).toMatchObject({ kind: 'below', isConfirmed: false });
    expect(knee.rate).toBeUndefined();
    expect(kneeText(knee)).toContain(
      'Knee: below 5/s: the lowest rate does not have 99 % of requests within 20 ms.',
    );
  });

  test('a target that meets at the highest rate is above', async () => {
    const { knee } = await search(fixedServer(0.1), { from: 100, to: 900 });
    expect(knee).toMatchObject({ kind: 'above', rate: 900 });
    expect(knee.probes.map(({ perSecond }) => perSecond)).toEqual([100, 200, 400, 800, 900]);
    expect(kneeText(knee)).toContain('Knee: at least 900/s');
  });

  test('rejected requests are misses', async () => {
    // Two of a hundred requests are rejected, at any rate.
    const rejecting: Server = (arrivals) =>
      arrivals.map((at, i) => ({ endedAt: at + 1, ...(i % 50 === 0 && { kind: 'rejected' as const }) }));
    expect((await search(rejecting, { from: 1000 })).knee.kind).toBe('below');
  });

  test('a target that rejects everything is below, even if the generator is short of CPU time', async () => {
    const rejecting: Server = (arrivals) => arrivals.map((at) => ({ endedAt: at + 1, kind: 'rejected' }));
    const { knee } = await search(rejecting, { from: 1000 }, { cpuShare: () => 1 });
    expect(knee.kind).toBe('below');
  });

  test('misses that are allowed do not add up to a miss in a long probe', async () => {
    // Nine of a thousand requests are late, at any rate.
    const nearly: Server = (arrivals) =>
      arrivals.map((at, i) => ({ endedAt: at + (i % 111 === 0 ? 50 : 1) }));
    const { knee } = await search(nearly, { from: 200, to: 400 });
    expect(knee).toMatchObject({ kind: 'above', rate: 400 });
    expect(Math.max(...knee.probes.map(({ seconds }) => seconds))).toBe(41);
  });

  test('the first misses of a cold target are no verdict', async () => {
    let runs = 0;
    const cold: Server = (arrivals, random, spec) =>
      fixedServer(runs++ === 0 ? 50 : 1)(arrivals, random, spec);
    expect((await search(cold, { from: 200 })).knee).toMatchObject({ kind: 'found' });
  });

  test('a stall during one probe does not lead to a knee that is too low', async () => {
    let runs = 0;
    // The third probe, at 400/s, meets a server that is ten times slower.
    const stalling: Server = (arrivals, random, spec) =>
      exponentialServer(runs++ === 2 ? 10 : 1)(arrivals, random, spec);
    const { knee } = await search(stalling, { from: 100 });
    const truth = 1000 - Math.log(100) / 0.02;
    expect(knee).toMatchObject({ kind: 'found', isConfirmed: true });
    expect(Math.abs((knee.rate as number) / truth - 1)).toBeLessThan(0.05);
  });

  test('a generator that is the limit is told, with the rate that was met', async () => {
    // Beyond 500/s the generator, not the server, makes requests late.
    const late: Server = (arrivals, random, spec) =>
      fixedServer(arrivals.length > 500 * (spec.seconds ?? 0) ? 30 : 0.1)(arrivals, random, spec);
    const { knee } = await search(late, { from: 100 }, { cpuShare: (perSecond) => perSecond / 550 });
    expect(knee).toMatchObject({
      kind: 'generator',
      limit: expect.stringMatching(/^it used \d+ % of a core$/),
    });
    expect(knee.rate).toBeGreaterThan(450);
    expect(kneeText(knee)).toContain('/s: the generator is the limit (it used');
  });

  test('a rate that the generator does not keep is told', async () => {
    // The generator sends 300/s at most, and sends late when 400/s are asked for.
    const late: Server = (arrivals, random, spec) => {
      const { traffic } = spec;
      const asked =
        traffic.kind === 'arrivals' && 'perSecond' in traffic.schedule ? traffic.schedule.perSecond : 0;
      return fixedServer(asked > 400 ? 30 : 0.1)(arrivals, random, spec);
    };
    const { knee } = await search(late, { from: 100 }, { mostPerSecond: 300 });
    expect(knee).toMatchObject({
      kind: 'generator',
      limit: expect.stringMatching(/^it kept 30\d\/s instead of 4\d\d\/s$/),
    });
  });

  test('that is stopped tells what is known', async () => {
    const stop = new AbortController();
    const { knee } = await search(fixedServer(1), {
      from: 100,
      signal: stop.signal,
      onProgress: ({ probe }) => probe?.perSecond === 400 && stop.abort(),
    });
    expect(knee).toMatchObject({ kind: 'stopped', rate: 400 });
    expect(kneeText(knee)).toContain('Knee: at least 400/s: the search was stopped.');
  });

  test.each<[Partial<KneeOptions>, string]>([
    [{ targetLatencyMs: 0 }, 'targetLatencyMs: expected milliseconds above 0, got 0.'],
    [{ share: 1 }, 'share: expected a number between 0 and 1, got 1.'],
    [{ from: -1 }, 'from: expected a rate above 0, got -1.'],
    [{ from: 10, to: 5 }, 'to: expected a rate of at least 10, got 5.'],
    [{ secondsPerStep: 0 }, 'secondsPerStep: expected at least 1, got 0.'],
  ])('%j is refused', async (options, message) => {
    await expect(search(fixedServer(1), options)).rejects.toThrow(message);
  });

  test('is written as text, JSON and a picture', async () => {
    const { knee } = await search(fixedServer(1), { from: 200 });
    const text = kneeText(knee);
    expect(text).toMatch(/^Knee: \d+\/s with 99 % of requests within 20 ms\.\n\nInterval: /);
    expect(text.split('\n').filter((line) => /(meets|misses)/.test(line))).toHaveLength(knee.probes.length);
    const json = JSON.parse(JSON.stringify(kneeJson(knee)));
    expect(json).toMatchObject({
      result: 'found',
      knee_per_second: knee.rate,
      target_latency_ms: 20,
      is_confirmed: true,
    });
    expect(json.probes).toHaveLength(knee.probes.length);
    expect(kneeChart(knee)).toMatch(/^<svg.*knee \d+(?:\.\d+)?\/s.*<\/svg>\s*$/s);
  });
});
