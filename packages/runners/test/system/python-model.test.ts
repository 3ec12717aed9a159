/** Python models in real processes. */
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BatchwiseError } from 'batchwise';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createModelRunner,
  type ModelRunner,
  type Predictor,
  PythonModel,
  type PythonModelOptions,
  predictor,
} from '../../src/index.js';
import { isAlive } from '../support/is-alive.js';
import { PYTHON, pythonFile } from '../support/python.js';
import { repeated } from '../support/repeated.js';
import { settingsWith } from '../support/settings.js';
import { until } from '../support/until.js';

interface Running {
  readonly runner: ModelRunner;
  readonly rows: Predictor;
  readonly lines: readonly string[];
  readonly deaths: readonly BatchwiseError[];
}

type Settings = Parameters<typeof settingsWith>[0];

async function running(
  source: string,
  options: Partial<PythonModelOptions> = {},
  changes: Settings = {},
): Promise<Running> {
  const lines: string[] = [];
  const deaths: BatchwiseError[] = [];
  const model = new PythonModel({
    file: pythonFile(source),
    python: PYTHON,
    log: (line) => lines.push(line),
    onProcessDeath: (error) => deaths.push(error),
    ...options,
  });
  const { batching, ...rest } = changes;
  const settings = settingsWith({
    timeoutMs: 60_000,
    ...rest,
    batching: { targetLatencyMs: 60_000, ...batching },
  });
  const runner = createModelRunner({ name: 'model', model, settings });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return { runner, rows: predictor(runner), lines, deaths };
}

function settled(promises: readonly Promise<unknown>[]): Promise<unknown[]> {
  return Promise.all(promises.map((promise) => promise.catch((error: Error) => error.message)));
}

const ITEMS = `
import os, signal, sys, time, pathlib

def predict(items):
    results = []
    for item in items:
        if item == 'raise': raise ValueError('secret detail')
        if item == 'exit': sys.exit(3)
        if item == 'crash': os.kill(os.getpid(), signal.SIGSEGV)
        if item == 'hang': time.sleep(3600)
        if item == 'print': print('printed', 'a line')
        if item == 'bad': results.append(ValueError('bad item')); continue
        results.append({'pid': os.getpid(), 'size': len(items)} if item == 'info' else item)
    return results
`;

describe('a batch', () => {
  test('of tensors is computed as one call', async () => {
    const { rows, runner } = await running(`
import numpy as np
class Sum:
    def predict(self, rows: np.ndarray) -> np.ndarray:
        return np.stack([rows.sum(axis=1), np.full(len(rows), len(rows))], axis=1)
`);
    expect(runner.platform).toBe('python');
    const answers = await Promise.all(
      [
        [1, 2],
        [3, 4],
        [0.5, 0],
      ].map((row) => rows.predict(row)),
    );
    expect(answers).toEqual([
      [3, 3],
      [7, 3],
      [0.5, 3],
    ]);
  });

  test('of JSON items takes and returns any values; an exception as a result fails only its item', async () => {
    const { rows } = await running(ITEMS);
    const items = [1, 'bad', { a: [null, 'é'] }, 'bad', [true]];
    const answers = await settled(items.map((item) => rows.predict(item)));
    const failed = expect.stringMatching(/: ValueError: bad item$/);
    expect(answers).toEqual([1, failed, { a: [null, 'é'] }, failed, [true]]);
  });

  test('with several inputs and outputs uses their names', async () => {
    const { rows, runner } = await running(`
import numpy as np
from numpy.typing import NDArray
import batchwise

@batchwise.model(example={'ids': np.zeros((1, 2), np.int64), 'texts': ['a']})
def predict(ids: NDArray[np.int64], texts: list[str]):
    return {'total': ids.sum(axis=1), 'upper': [text.upper() for text in texts]}
`);
    expect(runner.signature).toEqual({
      inputs: [
        { name: 'ids', datatype: 'INT64', shape: [-1, 2], example: [0, 0] },
        { name: 'texts', datatype: 'BYTES', shape: [-1], example: 'a' },
      ],
      outputs: [
        { name: 'total', datatype: 'INT64', shape: [-1] },
        { name: 'upper', datatype: 'BYTES', shape: [-1] },
      ],
    });
    const answers = await Promise.all([
      rows.predict({ ids: [1, 2], texts: 'a' }),
      rows.predict({ ids: [3, 4], texts: 'ß' }),
    ]);
    expect(answers).toEqual([
      { total: 3, upper: 'A' },
      { total: 7, upper: 'SS' },
    ]);
  });

  test('that raises is bisected, and only the faulty item fails', async () => {
    const { rows } = await running(ITEMS);
    const answers = await settled(['a', 'raise', 'b', 'exit'].map((item) => rows.predict(item)));
    expect(answers[0]).toBe('a');
    expect(answers[1]).toMatch(/ValueError: secret detail/);
    expect(answers[2]).toBe('b');
    expect(answers[3]).toMatch(/SystemExit: 3/);
  });

  test('that raises fails as a whole without isolate', async () => {
    const { rows } = await running(ITEMS, {}, { isolate: false });
    const answers = await settled(['a', 'raise', 'b'].map((item) => rows.predict(item)));
    for (const answer of answers) expect(answer).toMatch(/ValueError: secret detail/);
  });

  // The traceback went to the log with the response of the request, so it was lost when no caller waited any more.
  test('that raises after its callers are gone leaves its traceback in the log', async () => {
    const { rows, lines } = await running(`
import pathlib, time
def predict(items):
    print('began')
    while not pathlib.Path(items[0]).exists(): time.sleep(0.01)
    raise ValueError('late')
`);
    const gate = join(dirname(pythonFile('')), 'gate');
    const caller = new AbortController();
    const answer = rows.predict(gate, { signal: caller.signal });
    await until(() => lines.includes('began'), 'the batch to start');
    caller.abort();
    await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
    writeFileSync(gate, '');
    await until(() => lines.includes('ValueError: late'), 'the traceback');
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}File ".*model\.py", line 6, in predict$/));
  });

  test('that is bisected leaves one traceback in the log', async () => {
    const { rows, lines } = await running(ITEMS, {}, { batching: { maxBatchSize: 8 } });
    await settled([1, 2, 3, 4, 5, 6, 7, 'raise'].map((item) => rows.predict(item)));
    expect(lines.filter((line) => line === 'ValueError: secret detail')).toHaveLength(1);
  });

  test('is warmed up with the example at all sizes', async () => {
    const { runner } = await running(
      `
import numpy as np, batchwise
class Model:
    example = np.ones((2, 3), np.float32)
    def predict(self, rows: np.ndarray) -> np.ndarray:
        assert rows.min() == 1
        return rows
`,
      {},
      { warmup: 2, batching: { maxBatchSize: 8 } },
    );
    expect(runner.stats()?.curve.map(({ cost }) => cost)).toEqual([1, 2, 4, 8]);
  });
});

describe('a process', () => {
  test('that prints writes to the log', async () => {
    const { rows, lines } = await running(ITEMS);
    expect(await rows.predict('print')).toBe('print');
    await until(() => lines.includes('printed a line'), 'the line in the log');
  });

  test.each([
    ['crashes', 'crash', /ended during this batch: killed by SIGSEGV/],
    ['hangs', 'hang', /model/],
  ])('that %s fails its batch and is replaced', async (_, fault, message) => {
    const { rows, deaths } = await running(
      ITEMS,
      {},
      { timeoutMs: fault === 'hang' ? 1000 : 60_000, batching: { maxBatchSize: 1 } },
    );
    const before = (await rows.predict('info')) as { pid: number };
    const [failed, ...others] = await settled([fault, 'a', 'b'].map((item) => rows.predict(item)));
    expect(failed).toMatch(message);
    if (fault === 'crash') expect(others).toEqual(['a', 'b']);
    const after = (await repeated(() => rows.predict('info'))) as { pid: number };
    expect(after.pid).not.toBe(before.pid);
    expect(isAlive(before.pid)).toBe(false);
    expect(deaths).toHaveLength(1);
  });

  test('killed under load: each request is answered or fails with a named error', async () => {
    const { rows } = await running(ITEMS, { replicas: 2 }, { batching: { maxBatchSize: 8 } });
    const { pid } = (await rows.predict('info')) as { pid: number };
    const answers = settled(Array.from({ length: 2000 }, (_, i) => rows.predict(i)));
    process.kill(pid, 'SIGKILL');
    const failures = (await answers).filter((answer, i) => answer !== i);
    expect(failures.length).toBeLessThanOrEqual(8); // one batch
    for (const failure of failures)
      expect(failure).toMatch(/the process of the model ended during this batch: killed by SIGKILL/);
    expect(await rows.predict('after')).toBe('after');
  });

  test('has its own device', async () => {
    const { rows } = await running(
      `
import os, time
def predict(items):
    return [[os.environ['CUDA_VISIBLE_DEVICES'], os.environ['OMP_NUM_THREADS']] for _ in items]
`,
      { replicas: 2, resources: { gpu: [3, 5], cpu: 2 } },
      { batching: { maxBatchSize: 1 } },
    );
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => rows.predict(i)));
    const devices = new Set(answers.map((answer) => (answer as string[])[0]));
    expect([...devices].sort()).toEqual(['3', '5']);
    expect(new Set(answers.map((answer) => (answer as string[])[1]))).toEqual(new Set(['2']));
  });

  test('runs a batch at the same time as another process', async () => {
    const folder = dirname(pythonFile(''));
    const { rows } = await running(
      `
import os, pathlib
folder = pathlib.Path(${JSON.stringify(folder)})
def predict(items):
    (folder / str(os.getpid())).touch()
    while len(list(folder.glob('[0-9]*'))) < 2: pass
    return items
`,
      { replicas: 2 },
      { replicas: 2, batching: { maxBatchSize: 1 } },
    );
    expect(await Promise.all([1, 2].map((item) => rows.predict(item)))).toEqual([1, 2]);
  });

  test('runs several batches at a time on threads', async () => {
    const { rows } = await running(
      `
import threading
barrier = threading.Barrier(3)
def predict(items):
    barrier.wait(60)
    return items
`,
      { concurrency: 3 },
      { concurrency: 3, batching: { maxBatchSize: 1 } },
    );
    expect(await Promise.all([1, 2, 3].map((item) => rows.predict(item)))).toEqual([1, 2, 3]);
  });

  test('ends with the runner, and its close() is called', async () => {
    const { rows, runner, lines } = await running(
      `${ITEMS}
class Model:
    def predict(self, items): return predict(items)
    def close(self): print('closed')
`,
      { object: 'Model' },
    );
    const { pid } = (await rows.predict('info')) as { pid: number };
    await runner.close();
    expect(isAlive(pid)).toBe(false);
    expect(lines).toContain('closed');
  });

  test('that ignores signals and hangs is killed with its children at close()', async () => {
    const { rows, runner, lines } = await running(`
import signal, subprocess, os, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
child = subprocess.Popen(['sleep', '3600'])
def predict(items):
    if items[0] == 'pids': return [[os.getpid(), child.pid] for _ in items]
    print('hangs')
    while True:
        try: time.sleep(3600)
        except BaseException: pass
`);
    const pids = (await rows.predict('pids')) as number[];
    const hanging = rows.predict('hang').catch((error: Error) => error.message);
    await until(() => lines.includes('hangs'), 'the batch to start');
    await runner.close({ timeoutMs: 0 });
    expect(await hanging).toMatch(/closed/);
    for (const pid of pids) await until(() => !isAlive(pid), `process ${pid} to end`);
  });
});

describe('a start fails with the reason and the remedy', () => {
  test.each([
    ['a missing package', 'import sklearn_missing_package', /sklearn_missing_package/],
    ['a syntax error', 'def predict(:', /SyntaxError/],
    ['no model', 'x = 1', /predict/],
    ['several models', 'def a(x): return x\ndef b(x): return x', /a.*b/s],
    ['an exception', 'raise RuntimeError("no weights")', /no weights/],
    ['an exit', 'import sys; sys.exit(4)', /exit/i],
    [
      'a wrong number of rows',
      'import numpy as np\nclass M:\n  example = np.zeros((4, 2))\n  def predict(self, rows: np.ndarray): return rows[1:]',
      /3.*4|4.*3/,
    ],
  ])('%s', async (_, source, message) => {
    const model = new PythonModel({ file: pythonFile(source), python: PYTHON });
    const error = await model.load().catch((reason: BatchwiseError) => reason);
    expect(error).toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(/model\.py cannot be served/),
    });
    expect((error as Error).message).toMatch(message);
  });

  test('a file that does not exist', async () => {
    await expect(new PythonModel({ file: '/nowhere/model.py' }).load()).rejects.toThrow(
      /there is no such file/,
    );
  });

  test('an interpreter that does not exist', async () => {
    const model = new PythonModel({ file: pythonFile(ITEMS), python: '/nowhere/python' });
    await expect(model.load()).rejects.toThrow(
      /interpreter \/nowhere\/python cannot be started: there is no such program\. Install Python .* BATCHWISE__RUNNERS__PYTHON=/,
    );
  });

  test('a virtual environment without an interpreter', async () => {
    const file = pythonFile(ITEMS);
    const model = new PythonModel({ file, python: dirname(file) });
    const starting = model.load();
    await expect(starting).rejects.toThrow(join(dirname(file), 'bin', 'python'));
    await expect(starting).rejects.toThrow(`python3 -m venv ${dirname(file)})`);
  });

  test('a program that is not Python', async () => {
    const model = new PythonModel({ file: pythonFile(ITEMS), python: '/bin/true' });
    await expect(model.load()).rejects.toThrow(
      /exit code 0 without a message.*\/bin\/true is not Python 3\.9.*`\/bin\/true --version`.*BATCHWISE__RUNNERS__PYTHON=/,
    );
  });
});

test('a model whose inputs changed is not used after a restart', async () => {
  const { rows, deaths } = await running(`
import os, pathlib
import batchwise
here = pathlib.Path(__file__).with_suffix('.started')
name = 'second' if here.exists() else 'first'
here.touch()
class Model:
    signature = batchwise.Signature([batchwise.Tensor(name, 'BYTES', [-1])], [batchwise.Tensor('y', 'BYTES', [-1])])
    def predict(self, items):
        os._exit(1)
`);
  await expect(rows.predict('x')).rejects.toThrow(/exit code 1/);
  await until(
    () => deaths.some(({ message }) => /differ from those at the start/.test(message)),
    'the second start',
  );
});

test('a process whose server is gone ends', async () => {
  const { spawn } = await import('node:child_process');
  const file = pythonFile(ITEMS);
  const script = `
import { PythonModel } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
const model = new PythonModel({ file: ${JSON.stringify(file)}, python: ${JSON.stringify(PYTHON)} });
await model.load();
const data = [new TextEncoder().encode('"info"')];
const answer = await model.infer(new Map([['items', { datatype: 'BYTES', shape: [1], data }]]), { ownsInputs: false, timeoutMs: 1e4 });
console.log(new TextDecoder().decode(answer.get('output').data[0]));
model.infer(new Map([['items', { datatype: 'BYTES', shape: [1], data: [new TextEncoder().encode('"hang"')] }]]), { ownsInputs: false, timeoutMs: 1e9 });
setTimeout(() => {}, 1e6);
`;
  const server = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void server.kill('SIGKILL'));
  const [line] = (await once(server.stdout, 'data')) as [Buffer];
  const { pid } = JSON.parse(line.toString()) as { pid: number };
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  server.kill('SIGKILL');
  await until(() => !isAlive(pid), 'the Python process to end');
});
