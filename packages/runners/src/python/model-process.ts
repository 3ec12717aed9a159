/** One Python process of a model, from start to end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { delimiter } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import { BatchwiseError, type Clock } from 'batchwise';
import {
  type ModelWorker,
  notStartedError,
  type WorkerEvents,
  workerEndedError,
} from '../model-worker-slot.js';
import type { Tensors } from '../tensor.js';
import type { InferCall } from '../tensor-model.js';
import { logLines } from './line-log.js';
import { ModelConnection } from './model-connection.js';
import { interpreterAdvice, packageFolder } from './python-interpreter.js';
import { TracebackLog } from './traceback-log.js';

export interface ModelProcessOptions {
  readonly python: string;
  readonly file: string;
  /** The class, function or variable in the file. Undefined: the only one. */
  readonly object: string | undefined;
  readonly concurrency: number;
  readonly env: Readonly<Record<string, string>>;
  readonly log: (line: string) => void;
  readonly clock: Clock;
}

/** How long a process without batches may take to end before it is killed. */
const CLOSE_MS = 5000;
/** How long the output of a process that ended is read, if another process still holds it open. */
const OUTPUT_MS = 1000;

/** Processes that have not ended. When this process exits, they are killed with their children. */
const live = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of live) killGroup(child);
});

export class ModelProcess implements ModelWorker {
  readonly #options: ModelProcessOptions;
  readonly #events: WorkerEvents;
  readonly #child: ChildProcess;
  readonly #connection: ModelConnection;
  readonly #exited: Promise<void>;
  #hasStarted = false;
  #hasEnded = false;
  /** It sent an invalid message, which is a better reason than the exit status. */
  #invalidMessage: Error | undefined = undefined;

  constructor(options: ModelProcessOptions, events: WorkerEvents) {
    const { python, file, object, concurrency, env, log } = options;
    this.#options = options;
    this.#events = events;
    const target = object === undefined ? file : `${file}:${object}`;
    this.#child = spawn(python, ['-m', 'batchwise', target, '--fd', '3', '--concurrency', `${concurrency}`], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      // Safe path: a file `batchwise.py` in the working directory must not hide the package.
      env: { ...process.env, ...env, PYTHONPATH: pythonPath(), PYTHONSAFEPATH: '1' },
      // Its own process group: Ctrl-C in the terminal reaches only the server, and a kill reaches its children.
      detached: true,
    });
    const child = this.#child;
    // Without a free file descriptor there are no pipes.
    if (child.stdio[3] === undefined) {
      child.on('error', () => {});
      throw new Error(`the process cannot be started: ${python}: no free file descriptor or process`);
    }
    live.add(child);
    for (const stream of [child.stdout, child.stderr]) logLines(stream as Readable, log);
    this.#exited = new Promise((resolve) => {
      child.on('error', (error: NodeJS.ErrnoException) => {
        live.delete(child);
        this.#end(spawnError(python, error));
        resolve();
      });
      child.on('exit', (code, signal) => {
        live.delete(child);
        killGroup(child);
        this.#endOutput();
        const isSilent = !this.#hasStarted && code !== null;
        const text = isSilent ? exitBeforeReportText(python, code) : exitText(code, signal);
        this.#end(this.#invalidMessage ?? new Error(text));
        resolve();
      });
    });
    const tracebacks = new TracebackLog(log, options.clock);
    this.#connection = new ModelConnection(child.stdio[3] as Duplex, {
      ready: (model) => {
        this.#hasStarted = true;
        events.started(model);
      },
      raised: (traceback) => tracebacks.write(traceback),
      lost: (error) => this.#onConnectionLost(error),
    });
  }

  /** The process reads one batch ahead. */
  get hasRoom(): boolean {
    return (
      this.#hasStarted && !this.#connection.isLost && this.#connection.inFlight <= this.#options.concurrency
    );
  }

  run(inputs: Tensors, call: InferCall): Promise<Tensors> {
    return this.#connection.infer(inputs, call);
  }

  async kill(error: Error): Promise<void> {
    const { clock } = this.#options;
    const mayFinish = this.#hasStarted && !this.#hasEnded && this.#connection.inFlight === 0;
    if (mayFinish) {
      this.#hasEnded = true; // without an event: the end is expected
      this.#connection.close();
      const timer = clock.setTimer(() => killGroup(this.#child), CLOSE_MS);
      await this.#exited;
      clock.clearTimer(timer);
      this.#events.ended(error);
      return;
    }
    this.#end(error);
    killGroup(this.#child);
    await this.#exited;
  }

  /**
   * A start failure is final. Otherwise the exit status says why, and arrives later: it is that of the process even if
   * the process was ending already when it is killed here.
   */
  #onConnectionLost(error: Error): void {
    if (this.#hasEnded) return;
    if (error instanceof BatchwiseError) {
      this.#end(new BatchwiseError(error.code, `${this.#options.file} cannot be served: ${error.message}`));
    } else if (error.cause !== undefined) this.#invalidMessage = error;
    killGroup(this.#child);
  }

  #endOutput(): void {
    const { clock } = this.#options;
    const { stdout, stderr } = this.#child;
    const timer = clock.setTimer(() => {
      stdout?.destroy();
      stderr?.destroy();
    }, OUTPUT_MS);
    this.#child.once('close', () => clock.clearTimer(timer));
  }

  #end(error: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#events.ended(error);
    // The process starts batches in order, so batches that it only read ahead return to the queue.
    const { concurrency } = this.#options;
    this.#connection.end((position) =>
      position < concurrency ? workerEndedError('process', error) : notStartedError('process'),
    );
  }
}

/** The process and its children. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function pythonPath(): string {
  return [packageFolder(), process.env.PYTHONPATH].filter(Boolean).join(delimiter);
}

const SPAWN_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such program',
  EACCES: 'it is not executable',
  ENOEXEC: 'it is not a program',
};

function spawnError(python: string, error: NodeJS.ErrnoException): Error {
  const why = SPAWN_ERRORS[error.code ?? ''];
  if (why === undefined) return error;
  return new BatchwiseError(
    'INVALID_OPTION',
    `The Python interpreter ${python} cannot be started: ${why}. ${interpreterAdvice(python)}`,
    { cause: error },
  );
}

function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal === 'SIGKILL')
    return 'killed by SIGKILL, for example because memory ran out or the process closed file descriptor 3';
  return signal === null ? `exit code ${code}` : `killed by ${signal}`;
}

/** A Python process reports why it cannot load its model. It exits without a report only if the model does so. */
function exitBeforeReportText(python: string, code: number): string {
  return (
    `exit code ${code} without a message. Either the model ended its process, or ${python} is not Python ` +
    `3.9 or newer: see \`${python} --version\`. ${interpreterAdvice(python)}`
  );
}
