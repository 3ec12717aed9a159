import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandLine } from '../src/command-line.js';
import { COMMANDS } from '../src/commands.js';
import { fakeTerminal } from './support/fake-terminal.js';

let folder: string;
let curve: string;
/** A short trace, for fast plans. */
let trace: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-cli-'));
  curve = file('curve.json', '{"1": 5.1, "8": 5.8, "16": 6.6}');
  trace = file('trace.csv', Array.from({ length: 200 }, (_, i) => 10 * i).join('\n'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function run(args: readonly string[], options: Parameters<typeof fakeTerminal>[0] = {}) {
  const terminal = fakeTerminal(options);
  const exitCode = await runCommandLine(args, terminal);
  return { exitCode, ...terminal.written };
}

const plan = (...args: string[]) => run(['plan', '--curve', curve, '--target-latency-ms', '20', ...args]);
const quickPlan = (...args: string[]) => plan('--trace', trace, ...args);

describe('flags of BentoML', () => {
  test.each([
    [['--production'], /^error: --production is a flag of BentoML: .* --workers <count>/],
    [['--production', 'service.ts'], /^error: --production is/],
    [['service.ts', '--production'], /^error: --production is/],
    [['service.ts', '--production=true'], /^error: --production is/],
    [['service.ts', '--reload'], /^error: --reload is a flag of BentoML: use --watch to restart/],
    [['service.ts', '--development'], /^error: --development is/],
    [
      ['service.ts', '--api-workers', '4'],
      /^error: --api-workers is a flag of BentoML: use --workers <count>\./,
    ],
    [['--api-workers=4', 'service.ts'], /^error: --api-workers is/],
    [['service.ts', '--backlog', '2048'], /^error: --backlog is/],
    [['service.ts', '--timeout', '60'], /^error: --timeout is/],
    [['service.ts', '--ssl-certfile', 'a.pem'], /^error: --ssl-certfile is/],
  ])('%j is rejected with the alternative', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(['serve', ...args]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('are not in the help', async () => {
    expect((await run(['serve', '--help'])).stdout).not.toMatch(/--production|--reload|--api-workers|--ssl/);
  });
});

describe('help', () => {
  test.each([[[]], [['--help']], [['-h']], [['help']]])('batchwise %s', async (args: string[]) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: batchwise/);
    for (const word of ['plan', 'arena', 'Examples:', '--version']) expect(stdout).toContain(word);
  });

  test.each([[['plan', '--help']], [['help', 'plan']]])('batchwise %s', async (args: string[]) => {
    const { exitCode, stdout } = await run(args);
    expect(exitCode).toBe(0);
    for (const word of [
      '--curve',
      '--rate',
      '--trace',
      '--probe',
      '--target-latency-ms',
      '--svg',
      'Examples:',
      'Exit codes',
    ])
      expect(stdout).toContain(word);
  });

  test.each(COMMANDS.map(({ name }) => name))('lists %s as it is', async (name) => {
    const { stdout: list } = await run(['--help']);
    const { stdout: own } = await run([name, '--help']);
    const [, usage = ''] = /^Usage: batchwise (.*)$/m.exec(own) ?? [];
    expect(list).toContain(`\n  ${usage.replace(' [options] [command]', '')}  `);
    expect(list).toBe((await run(['--help', name])).stdout);
  });

  test('wraps at the width of the terminal', async () => {
    for (const { name } of COMMANDS) {
      const lines = (await run([name, '--help'], { columns: 80 })).stdout.split('\n');
      for (const line of lines)
        if (!line.startsWith('  $ ')) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });

  test('has bold titles on a terminal, and none elsewhere', async () => {
    expect((await run(['--help'], { isTTY: true })).stdout).toContain('\x1b[1m');
    expect((await run(['--help'])).stdout).not.toContain('\x1b');
    expect((await run(['--help'], { isTTY: true, env: { NO_COLOR: '1' } })).stdout).not.toContain('\x1b');
    expect((await run(['--help'], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).stdout).toContain('\x1b[1m');
    expect((await run(['--help'], { isTTY: true, env: { FORCE_COLOR: '0' } })).stdout).not.toContain('\x1b');
  });

  test.each([['plam'], ['plan', '--curve', 'no.json', '--rate', '8', '--target-latency-ms', '50']])(
    'the label of an error is red on a terminal: batchwise %s',
    async (...args) => {
      expect((await run(args, { isTTY: true })).stderr).toContain('\x1b[1;31merror:\x1b[22;39m ');
      expect((await run(args)).stderr).toMatch(/^error: /);
    },
  );

  test('the version is that of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    for (const flag of ['--version', '-V', '-v'])
      expect(await run([flag])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
  });
});

describe('an invalid command line exits with 2 and one or two lines', () => {
  const full = ['plan', '--curve', 'c.json', '--rate', '800', '--target-latency-ms', '50'];
  const without = (flag: string) => full.filter((_, i) => full[i] !== flag && full[i - 1] !== flag);
  test.each<[string[], RegExp]>([
    [['plam'], /unknown command 'plam'\n\(Did you mean plan\?\)/],
    [['plan', '--rat', '800'], /unknown option '--rat'\n\(Did you mean --rate\?\)/],
    [['--jsn'], /unknown option '--jsn'/],
    [[...full, 'more'], /too many arguments/],
    [without('--rate'), /one of --rate and --trace is required/],
    [without('--curve'), /one of --curve and --probe is required/],
    [without('--target-latency-ms'), /--target-latency-ms is required/],
    [[...full, '--trace', 't.csv'], /'--trace <file>' cannot be used with option '--rate <number>'/],
    [[...full, '--probe', 'h.ts'], /'--probe <file>' cannot be used with option '--curve <file>'/],
    [[...full, '--save-curve', 'x'], /'--save-curve <file>' cannot be used with option '--curve <file>'/],
    [[...full, '--rate', 'NaN'], /'--rate <number>' argument 'NaN' is invalid\. Expected a number above 0/],
    [[...full, '--rate', '-5'], /argument '-5' is invalid\. Expected a number above 0/],
    [[...full, '--rate', '0'], /argument '0' is invalid/],
    [[...full, '--rate', ''], /argument '' is invalid/],
    [[...full, '--rate', '0x10'], /argument '0x10' is invalid/],
    [[...full, '--rate', '1e10'], /at most 1,000,000,000/],
    [[...full, '--target-latency-ms', 'fast'], /--target-latency-ms <ms>' argument 'fast' is invalid/],
    [[...full, '--slots', '1.5'], /Expected a whole number from 1 to 64/],
    [[...full, '--slots', '65'], /Expected a whole number from 1 to 64/],
    [[...full, '--noise', '-3%'], /Expected a share from 0 to 2, such as 0\.05 or 5%/],
    [[...full, '--prefer', 'speed'], /Allowed choices are latency, efficiency/],
    [[...full, '--seed', '-1'], /Expected a whole number from 0/],
  ])('%s', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toMatch(message);
  });
});

describe('invalid input exits with 1 and one line with its position', () => {
  const rate = ['--rate', '800', '--target-latency-ms', '50'];
  const curveOf = (text: string) => ['--curve', file('bad.json', text), ...rate];
  const traceOf = (text: string) => [
    '--curve',
    curve,
    '--trace',
    file('bad.csv', text),
    '--target-latency-ms',
    '50',
  ];
  test.each<[string, () => string[], RegExp]>([
    ['no curve file', () => ['--curve', 'no.json', ...rate], /^error: --curve: there is no file no\.json\.$/],
    ['a folder', () => ['--curve', folder, ...rate], /^error: --curve: .* is a folder\.$/],
    ['no JSON', () => curveOf('{"1": 5,\n "2": }'), /bad\.json: line 2, column 7: expected a value, got "}"/],
    [
      'a hole',
      () => curveOf('{"1": 5, "2": null, "4": 6}'),
      /bad\.json: \["2"\]: expected a number above 0, .*got null/,
    ],
    ['a negative duration', () => curveOf('[{"size": 1, "ms": -5}]'), /bad\.json: \[0\]\.ms: .*got -5/],
    ['an empty curve', () => curveOf('{}'), /bad\.json: expected/],
    [
      'no trace file',
      () => ['--curve', curve, '--trace', 'no.csv', '--target-latency-ms', '50'],
      /--trace: there is no file no\.csv\./,
    ],
    [
      'an unsorted trace',
      () => traceOf('0\n5\n3\n'),
      /bad\.csv: line 3: expected not less than the time before \(5\), got 3/,
    ],
    ['a negative time', () => traceOf('-1\n5\n'), /bad\.csv: line 1: .*got "-1"/],
    ['a trace of words', () => traceOf('0\nsoon\n'), /bad\.csv: line 2: .*got "soon"/],
    ['an empty trace', () => traceOf('\n'), /expected at least one arrival time/],
    [
      'a trace of one',
      () => traceOf('3\n'),
      /--trace: .*bad\.csv must have at least two requests at different times\./,
    ],
    ['no module', () => ['--probe', 'no.ts', ...rate], /--probe: there is no file no\.ts\./],
    [
      'an unwritable picture',
      () => [
        '--curve',
        curve,
        '--trace',
        trace,
        '--target-latency-ms',
        '50',
        '--svg',
        join(folder, 'no/where.svg'),
      ],
      /--svg: there is no folder for/,
    ],
  ])('%s', async (_what, args, message) => {
    const { exitCode, stderr } = await run(['plan', ...args()]);
    expect(exitCode).toBe(1);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr.trimEnd()).toMatch(message);
  });

  test('BATCHWISE_DEBUG adds the stack', async () => {
    const args = ['plan', '--curve', 'no.json', ...rate];
    const { stderr } = await run(args, { env: { BATCHWISE_DEBUG: '1' } });
    expect(stderr).toMatch(/\n\s+at /);
  });
});

describe('a file with several curves', () => {
  const args = (argument: string) => [
    'plan',
    '--curve',
    argument,
    '--trace',
    trace,
    '--target-latency-ms',
    '20',
    '--json',
  ];

  test('needs a name after #', async () => {
    const several = file('several.json', '{"quick": {"1": 2, "8": 4}, "slow": {"1": 5, "8": 9}}');
    expect((await run(args(several))).stderr).toMatch(
      /has 2 curves, not one\. It has quick, slow\. Name one: --curve .*#quick\./,
    );
    expect((await run(args(`${several}#quik`))).stderr).toMatch(/has no curve quik\. It has quick, slow/);
    const { exitCode, stdout } = await run(args(`${several}#slow`));
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      input: { curve: 'slow' },
      settings: { curve: [{ duration_ms: 5 }, {}] },
    });
  });

  test('a # may be part of the name of a file', async () => {
    const odd = file('odd#name.json', '{"1": 2, "8": 4}');
    expect((await run(args(odd))).exitCode).toBe(0);
  });
});

describe('a plan', () => {
  test('as text: nothing on stderr, no colours', async () => {
    const { exitCode, stdout, stderr } = await plan('--rate', '500');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^curve\.json: batches of 1 to 16 .*\n\nYes: 1 slot can serve 500 requests\/s/);
    expect(stdout).not.toContain('\x1b');
  });

  test('on a terminal: colours, and a progress bar that is erased at the end', async () => {
    const args = ['plan', '--curve', curve, '--trace', trace, '--target-latency-ms', '20'];
    const { stdout, stderr } = await run(args, { isTTY: true });
    expect(stdout).toContain('\x1b[1;32mYes:');
    expect(stderr).toContain('finding the largest rate');
    expect(stderr.endsWith('\r\x1b[2K')).toBe(true);
  });

  test('that misses the target exits with 3', async () => {
    const { exitCode, stdout } = await plan(
      '--trace',
      file('dense.csv', Array.from({ length: 900 }, (_, i) => i / 4).join('\n')),
      '--slots',
      '1',
    );
    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/\nNo: with 1 slot/);
  });

  test('reports a chart that is not written', async () => {
    const svg = join(folder, 'never.svg');
    const { exitCode, stderr } = await run([
      'plan',
      '--curve',
      curve,
      '--trace',
      trace,
      '--target-latency-ms',
      '5',
      '--svg',
      svg,
    ]);
    expect(exitCode).toBe(3);
    expect(stderr).toMatch(/^note: .*never\.svg is not written: no rate meets the target\.\n$/);
  });

  test('takes the noise from the curve by default', async () => {
    const spread = '{"p50_ms": 5, "p10_ms": 4.4, "p90_ms": 5.7}';
    const noisy = file('noisy.json', `{"1": ${spread}, "8": ${spread}}`);
    const noiseOf = async (...more: string[]) => {
      const { stdout } = await run([
        'plan',
        '--curve',
        noisy,
        '--trace',
        trace,
        '--target-latency-ms',
        '30',
        '--json',
        ...more,
      ]);
      return JSON.parse(stdout).input.noise;
    };
    expect(await noiseOf()).toBeCloseTo(0.101, 3);
    expect(await noiseOf('--noise', '20%')).toBe(0.2);
    expect(await noiseOf('--noise', '0')).toBe(0);
  });

  test('of a formula needs no table', async () => {
    const formula = file('formula.json', '"5 + 0.1*b"');
    const { stdout } = await run([
      'plan',
      '--curve',
      formula,
      '--trace',
      trace,
      '--target-latency-ms',
      '30',
      '--max-batch-size',
      '16',
      '--json',
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ input: { curve: '5 + 0.1*b', max_batch_size: 16 } });
  });

  test('accepts --target-ms as an alias of --target-latency-ms', async () => {
    const { stdout } = await run(['plan', '--curve', curve, '--trace', trace, '--target-ms', '20', '--json']);
    expect(stdout).toBe((await quickPlan('--json')).stdout);
  });

  test('is limited to the batch sizes of the curve', async () => {
    const { stdout, stderr } = await quickPlan('--max-batch-size', '999', '--json');
    expect(JSON.parse(stdout).input.max_batch_size).toBe(16);
    expect(stderr).toBe('note: the curve ends at batches of 16: larger batches are not simulated.\n');
  });

  test('reports the columns of a trace that are not used', async () => {
    const costly = file(
      'costly.csv',
      `time_ms,cost\n${Array.from({ length: 50 }, (_, i) => `${10 * i},2`).join('\n')}`,
    );
    const { exitCode, stderr } = await plan('--trace', costly);
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(
      /^note: only the times of .*costly\.csv are used: a plan treats all requests alike\.\n$/,
    );
  });
});
