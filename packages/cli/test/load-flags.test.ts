/** The flags of `batchwise load`, and the errors before the first request. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { runPart, type TrafficFlags, targetSpec, trafficOf } from '../src/load/load-flags.js';
import { duration, header, jsonMember, ramp, steps, waitTime } from '../src/load/load-values.js';
import { fakeTerminal } from './support/fake-terminal.js';

describe('values', () => {
  test.each([
    ['60s', 60],
    ['500ms', 0.5],
    ['1.5m', 90],
    ['2min', 120],
    ['1h', 3600],
    ['10', 10],
  ])('the duration %s is %d seconds', (text, seconds) => expect(duration(text)).toBe(seconds));

  test.each(['', '0s', '-1s', '10 days', 'ten', '1e999h'])('%j is no duration', (text) => {
    expect(() => duration(text)).toThrow('Expected a duration above 0, such as 60s, 500ms, 2m or 1h.');
  });

  test('pauses of users', () => {
    expect(waitTime('between(0.01, 2)')).toEqual({ kind: 'between', min: 0.01, max: 2 });
    expect(waitTime('constant(1)')).toEqual({ kind: 'constant', seconds: 1 });
    expect(waitTime(' pacing( 5 ) ')).toEqual({ kind: 'pacing', seconds: 5 });
  });

  test.each(['between(2, 1)', 'between(1)', 'constant(1, 2)', 'constant(-1)', '2', 'sleep(1)'])(
    '%j is no pause',
    (text) =>
      expect(() => waitTime(text)).toThrow(/^Expected between\(0\.01, 2\), constant\(1\) or pacing\(5\)/),
  );

  test('rates that change', () => {
    expect(steps('100x30s, 400x1m')).toEqual({
      kind: 'steps',
      steps: [
        { perSecond: 100, seconds: 30 },
        { perSecond: 400, seconds: 60 },
      ],
    });
    expect(ramp('100..900in60s')).toEqual({ kind: 'ramp', from: 100, to: 900, seconds: 60 });
    for (const text of ['100', '100x', 'x30s', '0x30s', '100x30s,'])
      expect(() => steps(text)).toThrow(/^Expected/);
    for (const text of ['100', '100..900', '0..0in5s', '-1..5in5s'])
      expect(() => ramp(text)).toThrow(/^Expected/);
  });

  test('headers and members', () => {
    expect(header('X-Tenant: a:b', { accept: '*/*' })).toEqual({ accept: '*/*', 'x-tenant': 'a:b' });
    expect(() => header('nothing')).toThrow("Expected 'name: value'.");
    expect(jsonMember('outputs.0.name')).toEqual({ path: 'outputs.0.name' });
    expect(jsonMember('label="a=b"')).toEqual({ path: 'label', value: 'a=b' });
    expect(() => jsonMember('label=setosa')).toThrow('Expected a JSON value after label=');
  });
});

describe('traffic', () => {
  const traffic = (flags: Partial<TrafficFlags>) => trafficOf({ maxInFlight: 10, seed: 1, ...flags });

  test('default: ten users without pauses', async () => {
    expect(await traffic({})).toEqual({
      kind: 'users',
      users: 10,
      spawnRate: 10,
      waitTime: { kind: 'constant', seconds: 0 },
    });
  });

  test('arrivals', async () => {
    const schedule = async (flags: Partial<TrafficFlags>) => (await traffic(flags)) as object;
    expect(await schedule({ rate: 5 })).toMatchObject({
      schedule: { kind: 'poisson', perSecond: 5 },
      maxInFlight: 10,
    });
    expect(await schedule({ rate: 5, arrivals: 'constant' })).toMatchObject({
      schedule: { kind: 'constant' },
    });
    expect(await schedule({ rate: 5, arrivals: 'gamma', variation: 2 })).toMatchObject({
      schedule: { kind: 'gamma', perSecond: 5, variation: 2 },
    });
  });

  test.each<[Partial<TrafficFlags>, string]>([
    [{ rate: 5, replay: 'x.csv' }, '--rate and --replay cannot be used together.'],
    [{ rate: 5, users: 3 }, '--users belongs to users and --rate to arrivals: use one or the other.'],
    [{ rate: 5, spawnRate: 3 }, '--spawn-rate belongs to users'],
    [{ arrivals: 'gamma' }, '--arrivals needs --rate.'],
    [{ rate: 5, variation: 3 }, '--variation needs --arrivals gamma.'],
    [{ variation: 3 }, '--variation needs --rate and --arrivals gamma.'],
    [{ replay: 'not-there.csv' }, '--replay: there is no file not-there.csv.'],
  ])('%j is rejected', async (flags, message) => {
    await expect(traffic(flags)).rejects.toThrow(message);
  });
});

test('a ramp and steps end the run, unless a time is given', async () => {
  const seconds = async (flags: Partial<TrafficFlags>) =>
    (await runPart({ maxInFlight: 10, seed: 1, ...flags })).seconds;
  expect(await seconds({ ramp: ramp('100..900in60s') })).toBe(60);
  expect(await seconds({ steps: steps('100x30s,400x1m') })).toBe(90);
  expect(await seconds({ steps: steps('100x30s,400x1m'), time: 200 })).toBe(200);
  expect(await seconds({ rate: 5 })).toBeUndefined();
  expect(await seconds({ users: 5 })).toBeUndefined();
});

test('the flags of a request make the description of the target', async () => {
  expect(
    await targetSpec('http://localhost:1/x', {
      data: '[1, 2]',
      method: 'put',
      header: { a: 'b' },
      timeout: 0.5,
      insecure: true,
      okStatus: ['200', '404'],
      okJson: { path: 'label' },
    }),
  ).toEqual({
    url: 'http://localhost:1/x',
    data: [{ json: 1 }, { json: 2 }],
    method: 'PUT',
    headers: { a: 'b' },
    timeoutMs: 500,
    tls: { insecure: true },
    success: { status: ['200', '404'], json: { path: 'label' } },
  });
});

describe('invalid flags are rejected in one line', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'batchwise-load-'));
    writeFileSync(join(folder, 'broken.json'), '{"a": ');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each<[string[], number, RegExp]>([
    [['http://localhost:1/x', '--data', '{"a": '], 1, /^error: --data: .*JSON/],
    [['http://localhost:1/x', '--data', '@broken.json'], 1, /^error: --data: (?!data:).*broken\.json/],
    [['http://localhost:1/x', '--rate', '-5'], 2, /--rate.*Expected a number above 0/],
    [['http://localhost:1/x', '--users', '0'], 2, /--users.*Expected a whole number from 1/],
    [['http://localhost:1/x', '--time', 'soon'], 2, /--time.*Expected a duration/],
    [['http://localhost:1/x', '--fail-if', 'p98 >> 3'], 2, /^error: --fail-if: Invalid threshold/],
    [['http://localhost:1/x', '--fail-if', 'p999 > 3 apples'], 2, /^error: --fail-if: Invalid threshold/],
    [['localhost:3000/x'], 1, /^error: .*http:\/\//],
    [['ftp://localhost/x'], 1, /^error: .*ftp/],
    [['http://localhost:1/x', '--tag', 'slow'], 2, /^error: --tag is for a scenario file/],
    [['http://localhost:1/x', '--host', 'http://localhost:2'], 2, /^error: --host is for a scenario file/],
    [['load.ts', '--timeout', '1s'], 2, /^error: --timeout has no effect on a scenario: set it in load\.ts/],
    [['load.ts', '--data', '{}'], 2, /^error: --data has no effect on a scenario/],
    [['http://localhost:1/x', '--html', 'not-there/x.html'], 1, /^error: --html: there is no folder for/],
    [['missing.ts'], 1, /^error: .*missing\.ts/],
    // The default of --protocol was taken for a flag that only HTTP has.
    [['grpc://127.0.0.1:1/a.B/C'], 1, /^error: 127\.0\.0\.1:1 refused the connection/],
    [['redis://127.0.0.1:1/q'], 1, /^error: 127\.0\.0\.1:1 refused the connection/],
    [['knee', 'http://localhost:1/x'], 2, /--target-latency-ms is required/],
    [
      ['knee', 'http://localhost:1/x', '--target-latency-ms', '5', '--from', '9', '--to', '3'],
      2,
      /--from must be less/,
    ],
    [['--user', '5'], 2, /unknown option '--user'/],
  ])('%j', async (args, code, message) => {
    const terminal = fakeTerminal({});
    const inFolder = args.map((arg) => arg.replace('@broken', `@${folder}/broken`));
    expect(await runCommandLine(['load', ...inFolder], terminal)).toBe(code);
    expect(terminal.written.stdout).toBe('');
    expect(terminal.written.stderr).toMatch(message);
  });
});
