/**
 * What a request costs everybody else: the longest turn of the server's event loop while the request is answered,
 * in CPU time of the main thread. A server of its own process, with the models of the repository and a service.
 *
 * CPU time and not wall time, the best of a few tries, and a limit that grows where the machine is slow: the
 * result does not depend on what else runs.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TensorSpec } from '@batchwise/runners';
import { identityModel } from '../../../runners/test/support/onnx-file.js';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** No request may block the event loop for longer, at default limits. */
export const LONGEST_TURN_MS = 100;
/** What the calibration takes on a machine that has nothing else to do. */
const REFERENCE_CALIBRATION_MS = 25;
const TRIES = 4;

/** Rejected for the time that it would take, an expensive request would cost nothing. */
const PATIENT = 'runners: { timeout: 600, batching: { target_latency_ms: 600000 } }';

export interface MeasuredServerOptions {
  /** The content of a settings file: all defaults, but more patience. */
  readonly yaml?: string;
}

interface Started {
  readonly address: { readonly port: number; readonly grpcPort: number };
  readonly calibrationMs: number;
}

interface Measured {
  readonly longestMs: number;
  readonly rssBytes: number;
}

export class MeasuredServer {
  readonly port: number;
  readonly grpcPort: number;
  /** `LONGEST_TURN_MS` on this machine, as busy as it is. */
  readonly limitMs: number;
  readonly #process: ChildProcess;
  readonly #folder: string;

  /** With models and a service that take several kinds of input, and gRPC. The caller closes it. */
  static async start({ yaml = PATIENT }: MeasuredServerOptions = {}): Promise<MeasuredServer> {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
    const file = join(folder, 'batchwise.yaml');
    writeFileSync(file, yaml);
    const flags = { models: modelsIn(folder), service: here('./measured-service.mjs'), port: 0, grpcPort: 0 };
    const child = fork(here('./measured-server.mjs'), [JSON.stringify({ flags, file })], { execArgv: [] });
    const exited = once(child, 'exit').then(() => undefined);
    const started = await Promise.race([once(child, 'message'), exited]);
    if (started === undefined) throw new Error('The measured server did not start; stderr says why.');
    return new MeasuredServer(child, folder, started[0] as Started);
  }

  private constructor(child: ChildProcess, folder: string, { address, calibrationMs }: Started) {
    this.#process = child;
    this.#folder = folder;
    this.port = address.port;
    this.grpcPort = address.grpcPort;
    this.limitMs = LONGEST_TURN_MS * Math.max(1, calibrationMs / REFERENCE_CALIBRATION_MS);
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  /**
   * The longest turn, in milliseconds, while `request` is answered: the least of a few tries, of which one within
   * the limit is enough.
   */
  async cost(request: () => Promise<unknown>): Promise<number> {
    let leastMs = Number.POSITIVE_INFINITY;
    for (let round = 0; round < TRIES && leastMs > this.limitMs; round++) {
      leastMs = Math.min(leastMs, (await this.measured(request)).longestMs);
    }
    return leastMs;
  }

  /** One try. */
  async measured(request: () => Promise<unknown>): Promise<Measured> {
    this.#process.send('start');
    try {
      await request();
    } finally {
      this.#process.send('stop');
    }
    const [measured] = await once(this.#process, 'message');
    return measured as Measured;
  }

  /** Posts a body, and resolves with the status. */
  async post(path: string, body: Buffer | string, headers: Record<string, string> = {}): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: body as BodyInit,
    });
    await response.arrayBuffer();
    return response.status;
  }

  async close(): Promise<void> {
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Iris, digits, and models that answer with what they got: of rows that are one value, of two inputs, of any width. */
function modelsIn(folder: string): string[] {
  const own: Readonly<Record<string, readonly TensorSpec[]>> = {
    ids: [{ name: 'x', datatype: 'INT64', shape: [-1] }],
    texts: [{ name: 'x', datatype: 'BYTES', shape: [-1] }],
    bytes: [{ name: 'x', datatype: 'UINT8', shape: [-1] }],
    pair: [
      { name: 'a', datatype: 'FP32', shape: [-1, 1] },
      { name: 'b', datatype: 'FP32', shape: [-1] },
    ],
    wide: [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }],
  };
  const files = Object.entries(own).map(([name, inputs]) => {
    const file = join(folder, `${name}.onnx`);
    writeFileSync(file, identityModel(inputs));
    return file;
  });
  return [here('../../../../models/iris.onnx'), here('../../../../models/digits.onnx'), ...files];
}
