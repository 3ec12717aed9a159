/** `batchwise plan` from the first question to running code, as a user goes about it. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TensorSpec } from '@batchwise/runners';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { identityModel } from '../../../runners/test/support/onnx-file.js';
import { batchwise, type Ended } from '../support/command.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const run = promisify(execFile);

let folder: string;
/** Of the same question: as text, and as JSON with a picture. */
let answer: Ended;
let pictured: Ended;

beforeAll(async () => {
  // Within the repository, so that `batchwise` is found as in a user's project.
  folder = mkdtempSync(join(root, 'node_modules', '.cache-cli-'));
  write('curve.json', '{"1": 5.1, "8": 5.8, "64": 11.4}');
  write('few.csv', Array.from({ length: 100 }, (_, i) => 20 * i).join('\n'));
  [answer, pictured] = await Promise.all([
    plan(...QUESTION),
    plan(...QUESTION, '--json', '--svg', 'plan.svg'),
  ]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return name;
}

const plan = (...args: string[]) => batchwise(['plan', ...args], folder);
const QUESTION = ['--curve', 'curve.json', '--rate', '800', '--target-latency-ms', '50'];
/** Where the plan itself is not the point: one for so few requests takes no time. */
const FEW = ['--trace', 'few.csv', '--target-latency-ms', '200'];

describe('npx batchwise', () => {
  test('is the command, from the root of the repository', async () => {
    const { stdout } = await run('npx', ['batchwise', '--version'], { cwd: root });
    const { version } = JSON.parse(readFileSync(join(root, 'packages/cli/package.json'), 'utf8'));
    expect(stdout).toBe(`${version}\n`);
  });

  test('reports a missing build', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'batchwise-unbuilt-'));
    cpSync(join(root, 'packages/cli/bin'), join(elsewhere, 'bin'), { recursive: true });
    writeFileSync(join(elsewhere, 'package.json'), '{"type": "module"}');
    const ended = await run(process.execPath, [join(elsewhere, 'bin/batchwise.js')]).catch((error) => error);
    expect({ code: ended.code, stderr: ended.stderr }).toEqual({
      code: 1,
      stderr: "error: batchwise is not built yet. Run 'npm run build' in the root of the repository.\n",
    });
    rmSync(elsewhere, { recursive: true });
  });
});

describe('a curve and a rate', () => {
  test('give a plan as text', () => {
    const { exitCode, stdout, stderr } = answer;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Yes: 1 slot can serve 800 requests\/s within 50 ms/m);
    expect(stdout).toMatch(/^ {2}latency +mean [\d.]+ ms {3}p50 [\d.]+ ms {3}p99 [\d.]+ ms$/m);
    expect(stdout).toMatch(/^ {2}largest rate +5,\d\d0 requests\/s/m);
    expect(stdout).toMatch(/^ {2}slots needed +1 slot for 800 requests\/s$/m);
  });

  test('give the same plan as JSON, and again in a second run', async () => {
    const again = await plan(...QUESTION, '--json');
    expect(again).toEqual(pictured);
    expect(JSON.parse(again.stdout)).toMatchObject({
      holds: true,
      settings: { max_batch_size: 64, concurrency: 1, target_latency_ms: 50 },
      needed: { slots: 1 },
    });
  });

  test('give settings that run when pasted', async () => {
    const snippet = answer.stdout.slice(answer.stdout.indexOf('import '));
    const program = `const handler = async (items) => items.map((n) => n * n);
      ${snippet}
      console.log(await Promise.all([2, 3, 4].map((n) => batcher.submit(n))));
      await batcher.close();`;
    const { stdout: printed } = await run(process.execPath, [join(folder, write('pasted.mjs', program))]);
    expect(printed).toBe('[ 4, 9, 16 ]\n');
  });

  test('a closed pipe is no error', async () => {
    const command = `"${process.execPath}" "${join(root, 'packages/cli/bin/batchwise.js')}" plan ${QUESTION.join(' ')} | head -1`;
    const { stdout, stderr } = await run('sh', ['-c', command], { cwd: folder });
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toHaveLength(2);
  });
});

describe('the picture', () => {
  let browser: Browser;

  beforeAll(async () => {
    const executablePath = findProgram(testPrograms.chromium);
    if (executablePath === undefined)
      throw new Error('There is no Chromium: run node scripts/test-requirements.js first.');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  });

  afterAll(() => browser?.close());

  test('is an SVG with both lines, the target and the knee, within its frame', async () => {
    const page = await browser.newPage({ viewport: { width: 800, height: 500 } });
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`file://${join(folder, 'plan.svg')}`);
    const texts = await page.locator('text').allTextContents();
    const knee = JSON.parse(pictured.stdout).largest_rate.rate_per_second.toLocaleString('en');
    expect(texts).toEqual(
      expect.arrayContaining(['mean', 'p99', 'target: 50 ms', `knee: ${knee} requests/s hold the target`]),
    );
    expect(texts.join('\n')).toContain('yours: 800 requests/s');
    const outside = await page.evaluate(() => {
      const frame = document.documentElement.getBoundingClientRect();
      return [...document.querySelectorAll('text')]
        .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }))
        .filter(({ box }) => box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom)
        .map(({ text }) => text);
    });
    expect(outside).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

describe('a trace', () => {
  test('is simulated with its recorded times', async () => {
    const times = Array.from({ length: 400 }, (_, i) => 50 * Math.floor(i / 20) + 0.1 * (i % 20));
    write('requests.csv', `time_ms\n${times.join('\n')}\n`);
    const { exitCode, stdout } = await plan(
      '--curve',
      'curve.json',
      '--trace',
      'requests.csv',
      '--target-latency-ms',
      '50',
      '--json',
    );
    expect(exitCode).toBe(0);
    const { input, expected } = JSON.parse(stdout);
    expect(input).toMatchObject({ traffic: 'trace', requests: 400 });
    expect(input.rate_per_second).toBeCloseTo((399 / (times.at(-1) as number)) * 1000, 1);
    // Twenty at a time: batches are large, though the rate is low.
    expect(expected.mean_batch_size).toBeGreaterThan(5);
  });
});

describe('a handler', () => {
  const HANDLER = `
    import { setTimeout as sleep } from 'node:timers/promises';
    type Row = readonly number[];
    export const handler = async (rows: Row[]): Promise<number[]> => {
      await sleep(rows.length > 4 ? 20 : 10);
      return rows.map((row) => row.length);
    };
    export const sample = (index: number): Row => [index];
    // Something that keeps a process alive.
    setInterval(() => {}, 1000);`;

  test('in TypeScript is measured, its curve saved and used', async () => {
    write('handler.ts', HANDLER);
    const { exitCode, stdout, stderr } = await plan(
      ...['--probe', './handler.ts', ...FEW, '--max-batch-size', '8'],
      ...['--probe-seconds', '1', '--save-curve', 'measured.json', '--json'],
    );
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^Measured \.\/handler\.ts: \d+ rounds in [\d.]+ s, noise [\d.]+ %$/m);
    const measured = JSON.parse(readFileSync(join(folder, 'measured.json'), 'utf8'));
    expect(Object.keys(measured)).toEqual(['1', '2', '4', '8']);
    // What it takes longer than that is the machine's affair.
    expect(measured['1'].p50_ms).toBeGreaterThan(9);
    expect(measured['8'].p50_ms).toBeGreaterThan(19);
    const { input, settings } = JSON.parse(stdout);
    expect(input.curve).toBe('handler.ts');
    expect(settings.curve[0].duration_ms).toBeGreaterThan(9);

    const again = await plan('--curve', 'measured.json', ...FEW, '--json');
    expect(JSON.parse(again.stdout).settings.curve).toEqual(settings.curve);
  });

  test.each<[string, string, RegExp]>([
    ['no handler', 'export const sample = 1;', /exports no handler: a function \(items\) => results/],
    ['no sample', 'export default async (items: number[]) => items;', /exports no sample: an item, or/],
    ['a syntax error', 'export const handler = (items: number[] => items;', /bad\.ts cannot be loaded: /],
    [
      'a missing import',
      "import 'not-there'; export const sample = 1;",
      /bad\.ts cannot be loaded: .*not-there/,
    ],
    [
      'a handler that throws',
      "export const sample = 1; export const handler = () => { throw new Error('out of memory'); };",
      /bad\.ts failed: out of memory/,
    ],
    [
      'too few results',
      'export const sample = 1; export const handler = () => [];',
      /bad\.ts failed: the handler must return an array of 1 results/,
    ],
  ])('%s is reported in one line', async (_what, code, message) => {
    write('bad.ts', code);
    const { exitCode, stdout, stderr } = await plan(
      '--probe',
      'bad.ts',
      '--rate',
      '50',
      '--target-latency-ms',
      '200',
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(/^error: --probe: /);
    expect(stderr).toMatch(message);
  });

  test('as a class in JavaScript is measured and closed', async () => {
    write(
      'model.mjs',
      `
      import { writeFileSync } from 'node:fs';
      export default { processBatch: async (items) => items };
      export const sample = { any: 'thing' };
      export const close = () => writeFileSync('closed.txt', 'yes');`,
    );
    const { exitCode } = await plan('--probe', 'model.mjs', ...FEW, '--probe-seconds', '0.2');
    expect(exitCode).toBe(0);
    expect(readFileSync(join(folder, 'closed.txt'), 'utf8')).toBe('yes');
  });
});

describe('a model', () => {
  const PROBE = ['--max-batch-size', '8', '--probe-seconds', '0.2', '--save-curve', 'model.json', '--json'];
  const sizes = () => Object.keys(JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8')));

  // The file was imported as a module, whatever its ending: "Unknown file extension".
  test('in ONNX is measured at all sizes', async () => {
    const { exitCode, stdout, stderr } = await plan(
      '--probe',
      join(root, 'models/iris.onnx'),
      ...FEW,
      ...PROBE,
    );
    expect(stderr).toMatch(/^Measured .*iris\.onnx: \d+ rounds/);
    expect(exitCode).toBe(0);
    expect(sizes()).toEqual(['1', '2', '4', '8']);
    expect(JSON.parse(stdout).input.curve).toBe('iris.onnx');
  });

  test.each<[string, TensorSpec[], string[], RegExp]>([
    [
      'of several inputs of all kinds',
      [
        { name: 'text', datatype: 'BYTES', shape: [-1, 2] },
        { name: 'ids', datatype: 'INT64', shape: [-1] },
        { name: 'half', datatype: 'FP16', shape: [-1, 3, 1] },
      ],
      ['1', '2', '4', '8'],
      /^Measured/,
    ],
    [
      'of a fixed batch dimension, one request at a time',
      [{ name: 'x', datatype: 'FP32', shape: [4, 2] }],
      ['1'],
      /^note: .*takes one request at a time: dimension 0 of input "x" of shape \[4,2\] is fixed at 4\.$/m,
    ],
    [
      'of open lengths, which are told',
      [{ name: 'x', datatype: 'INT32', shape: [-1, -1] }],
      ['1', '2', '4', '8'],
      /^note: input "x" \[-1,-1\] of .* has dynamic dimensions: measured with length 1\./m,
    ],
  ])('%s', async (_what, inputs, expected, said) => {
    writeFileSync(join(folder, 'Identity.ONNX'), identityModel(inputs));
    const { exitCode, stderr } = await plan('--probe', 'Identity.ONNX', ...FEW, ...PROBE);
    expect(stderr).toMatch(said);
    expect(exitCode).toBe(0);
    expect(sizes()).toEqual(expected);
  });

  test.each([
    ['that is none', 'none.onnx', /^error: --probe: none\.onnx cannot be loaded: .*Protobuf parsing failed/],
    [
      'of another kind',
      'model.pt',
      /^error: --probe: model\.pt: expected a model \(model\.onnx\) or a module/,
    ],
  ])('%s is reported in one line', async (_what, file, message) => {
    write(file, 'none');
    const { exitCode, stderr } = await plan('--probe', file, ...FEW);
    expect(exitCode).toBe(1);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(message);
  });
});

test.each([
  ['a wrong flag', ['--rat', '800'], 2, /^error: unknown option '--rat'\n\(Did you mean --rate\?\)\n$/],
  [
    'a missing file',
    ['--curve', 'no.json', '--rate', '8', '--target-latency-ms', '50'],
    1,
    /^error: --curve: there is no file no\.json\.\n$/,
  ],
])('%s', async (_what, args, code, message) => {
  const { exitCode, stdout, stderr } = await plan(...args);
  expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
  expect(stderr).toMatch(message);
});

test('a target that cannot be met exits with 3 and the sufficient settings', async () => {
  const { exitCode, stdout } = await plan(
    '--curve',
    'curve.json',
    '--rate',
    '800',
    '--target-latency-ms',
    '4',
  );
  expect(exitCode).toBe(3);
  expect(stdout).toMatch(
    /No: no rate can be served within 4 ms, because a batch of 1 takes 5\.10 ms\.\s+Needed: a target\s+of at least [\d.]+ ms for 800 requests\/s with 1 slot\./,
  );
});
