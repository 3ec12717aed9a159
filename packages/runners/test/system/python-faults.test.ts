/** Processes that break the rules of the protocol, and processes that cannot be started. */
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import type { BatchwiseError } from 'batchwise';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createModelRunner, PythonModel, predictor } from '../../src/index.js';
import { UnixInferencePeer } from '../../src/upstream/unix-inference-peer.js';
import { isAlive } from '../support/is-alive.js';
import { PYTHON, pythonFile } from '../support/python.js';
import { repeated } from '../support/repeated.js';
import { settingsWith } from '../support/settings.js';
import { until } from '../support/until.js';

/** A program in the place of the interpreter: reads one batch, then sends `answer`. */
function interpreter(answer: string): string {
  const file = join(dirname(pythonFile('')), 'python');
  const source = `#!${process.execPath}
const { readSync, writeSync } = require('node:fs');
const frame = (header) => {
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd((text.length + 7) & ~7));
  const prefix = Buffer.alloc(16);
  prefix.write('BWM1');
  prefix.writeUInt32LE(padded.length, 4);
  return Buffer.concat([prefix, padded]);
};
const send = (bytes) => writeSync(3, bytes);
const spec = { datatype: 'BYTES', shape: [-1] };
const ready = { kind: 'ready', version: 1, inputs: [{ name: 'x', ...spec }], outputs: [{ name: 'y', ...spec }] };
const result = { kind: 'result', id: 1, tensors: [{ name: 'y', datatype: 'BYTES', shape: [0], bytes: 0 }] };
send(frame(ready));
readSync(3, Buffer.alloc(65536));
${answer}
setInterval(() => {}, 1e6);
`;
  writeFileSync(file, source);
  chmodSync(file, 0o755);
  return file;
}

async function running(options: { python: string; source?: string; replicas?: number }) {
  const deaths: BatchwiseError[] = [];
  const { python, source = '', replicas } = options;
  const onProcessDeath = (error: BatchwiseError) => deaths.push(error);
  const model = new PythonModel({ file: pythonFile(source), python, replicas, onProcessDeath });
  const settings = settingsWith({
    timeoutMs: 600_000,
    batching: { targetLatencyMs: 600_000, maxBatchSize: 1 },
  });
  const runner = createModelRunner({ name: 'model', model, settings });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return { rows: predictor(runner), deaths, runner };
}

test.each([
  ['garbage', 'send(Buffer.from("Traceback: this is not a frame"));', /begin with BWM1/],
  ['the id of another batch', 'send(frame({ ...result, id: 7 }));', /id of a batch in flight/],
  ['errors that are not a list', 'send(frame({ ...result, errors: {} }));', /errors: expected a list/],
  ['an error without a row', 'send(frame({ ...result, errors: [null] }));', /expected a row/],
  [
    'an error of a missing row',
    'send(frame({ ...result, errors: [{ row: 99, message: "" }] }));',
    /expected a row/,
  ],
  ['a message that is not a text', 'send(frame({ kind: "error", id: 1, message: {} }));', /expected a text/],
  ['failed after ready', 'send(frame({ kind: "failed", message: "" }));', /no failed after ready/],
  ['ready twice', 'send(frame(ready));', /ready only once/],
])('a process that sends %s is replaced, and its batch fails at once', async (_, answer, message) => {
  const { rows, deaths } = await running({ python: interpreter(answer) });
  await expect(rows.predict('a')).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(message),
  });
  expect(deaths[0]?.message).toMatch(message);
});

test('a process that closes its connection is replaced', async () => {
  const { rows } = await running({ python: interpreter('require("node:fs").closeSync(3);') });
  await expect(rows.predict('a')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

// It stayed a backend until its exit status was known: batches were returned by it at once, until the retries of their
// items and the retry budget were used up, and the callers failed though another process was alive.
test('a process that has lost its connection gets no batches, also before its exit status is known', async () => {
  const source = `
import os, socket, time
def predict(items):
    if items == ['cut']:
        os._exit = lambda code: None
        socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RDWR)
        time.sleep(3600)
    return items
`;
  const { rows, deaths } = await running({ python: PYTHON, source, replicas: 2 });
  const cut = rows.predict('cut').catch((error: Error) => error.message);
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  onTestFinished(() => kill.mockRestore());
  await until(() => kill.mock.calls.length > 0, 'the lost connection to be noticed');
  const items = Array.from({ length: 100 }, (_, i) => i);
  expect(await Promise.all(items.map((item) => rows.predict(item)))).toEqual(items);
  expect(deaths).toEqual([]);
  const [[group]] = kill.mock.calls as [[number]];
  kill.mockRestore();
  process.kill(group, 'SIGKILL');
  expect(await cut).toMatch(/the process of the model ended during this batch: killed by SIGKILL/);
});

test('a restart that cannot start the interpreter is tried again', async () => {
  const folder = join(dirname(pythonFile('')), 'bin');
  mkdirSync(folder);
  const python = join(folder, 'python');
  symlinkSync(PYTHON, python);
  const source = `
import os
def predict(items):
    if 'exit' in items: os._exit(1)
    return items
`;
  const { rows, deaths } = await running({ python, source });
  renameSync(folder, `${folder}.old`);
  writeFileSync(folder, 'a file in the place of the folder: ENOTDIR');
  await expect(rows.predict('exit')).rejects.toThrow(/exit code 1/);
  await until(() => deaths.length >= 2, 'a failed restart');
  rmSync(folder);
  renameSync(`${folder}.old`, folder);
  expect(await repeated(() => rows.predict('b'))).toBe('b');
});

test('child processes of a model end with its process', async () => {
  const source = `
import os, subprocess
child = subprocess.Popen(['sleep', '3600'])
def predict(items): return [[os.getpid(), child.pid] for _ in items]
`;
  const { rows, runner } = await running({ python: PYTHON, source });
  const [pid = 0, child = 0] = (await rows.predict('a')) as number[];
  process.kill(pid, 'SIGKILL');
  await until(() => !isAlive(child), 'the child of a crashed process to end');
  const [, next = 0] = (await repeated(() => rows.predict('b'))) as number[];
  await runner.close();
  await until(() => !isAlive(next), 'the child of a closed process to end');
});

test('a peer that accepts connections and never answers is not ready', async () => {
  const path = join(dirname(pythonFile('')), 'silent.sock');
  const server = createServer(() => {});
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  onTestFinished(() => void server.close());
  const peer = new UnixInferencePeer({ url: `unix://${path}`, path });
  await expect(peer.signature(20)).rejects.toThrow(/not ready within 20 ms/);
  const call = { outputs: undefined, signal: undefined, timeoutMs: 20, ownsInputs: false };
  expect(await peer.infer(new Map(), call)).toMatchObject({ kind: 'failed', isOutage: true, isUnseen: true });
  const waiting = peer.checkReady(1e6);
  await peer.close();
  await expect(waiting).rejects.toThrow(/closed/);
});
