/** Python's grpcio in a separate process: programs/peer.py, as backend and as client. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { guardAgainstOrphans } from '../../../redis/test/support/orphan-guard.js';

/** Debian's Python, because Debian packages grpcio for it. */
const python = process.env.PYTHON_PATH ?? '/usr/bin/python3';
const program = fileURLToPath(new URL('programs/peer.py', import.meta.url));

export interface PythonCall {
  readonly message: Buffer;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly binary?: Readonly<Record<string, Buffer>>;
  /** Seconds. */
  readonly timeout?: number;
  readonly gzip?: boolean;
}

export interface PythonAnswer {
  readonly status: number;
  readonly message: string;
  readonly answer: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers: Readonly<Record<string, string>>;
}

export interface PythonBatch {
  readonly type: 'batch';
  readonly size: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly hasDeadline: boolean;
}

export interface PythonBackend {
  readonly port: number;
  readonly target: string;
  readonly batches: readonly PythonBatch[];
}

/** Ended after the current test. */
export async function pythonBackend(): Promise<PythonBackend> {
  const child = started(['backend']);
  const batches: PythonBatch[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    onLines(child, (line) => {
      const event = JSON.parse(line);
      if (event.type === 'listening') resolve(event.port);
      if (event.type === 'batch') batches.push(event);
    });
    child.once('exit', (code) => reject(new Error(`expected a port, but ${program} ended with ${code}`)));
  });
  return { port, target: `127.0.0.1:${port}`, batches };
}

/** Sends all calls concurrently and returns the answers in the same order. */
export async function pythonCalls(port: number, calls: readonly PythonCall[]): Promise<PythonAnswer[]> {
  const child = started(['client', `127.0.0.1:${port}`]);
  const lines = calls.map(({ message, binary = {}, ...rest }) => {
    const encoded = Object.entries(binary).map(([key, value]) => [key, value.toString('base64')]);
    return JSON.stringify({
      ...rest,
      message: message.toString('base64'),
      binary: Object.fromEntries(encoded),
    });
  });
  const answered = new Promise<PythonAnswer[]>((resolve, reject) => {
    onLines(child, (line) => {
      const answers = JSON.parse(line) as (PythonAnswer & { answer: string | null })[];
      resolve(
        answers.map((one) => ({
          ...one,
          answer: one.answer === null ? null : Buffer.from(one.answer as string, 'base64'),
        })),
      );
    });
    child.once('exit', (code) => reject(new Error(`expected answers, but ${program} ended with ${code}`)));
  });
  child.stdin?.end(lines.join('\n'));
  return answered;
}

function started(args: readonly string[]): ChildProcess {
  const child = spawn(python, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  guardAgainstOrphans(child);
  onTestFinished(async () => {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    if (child.kill('SIGKILL')) await exited;
  });
  return child;
}

function onLines(child: ChildProcess, onLine: (line: string) => void): void {
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', onLine);
}
