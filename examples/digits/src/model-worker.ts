/**
 * The thread the model lives on. onnxruntime's run() blocks the thread that calls it; on the main
 * thread nobody could submit anything while a batch is computed.
 */
import { parentPort, workerData } from 'node:worker_threads';

/** `rows` digits, one after the other in `pixels`. */
export interface ModelRequest {
  readonly id: number;
  readonly rows: number;
  readonly pixels: Float32Array;
}

export type ModelReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly what: 'runtime' | 'model'; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly probabilities: Float32Array }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string };

export interface ModelWorkerData {
  readonly modelPath: string;
}

if (parentPort === null) throw new Error('model-worker.js is started by digits-model.js, not by hand.');
const port = parentPort;
// Not a plain import: a native library that is missing or does not fit must be told, not thrown.
const runtime = await import('onnxruntime-node').catch((error: Error) => giveUp('runtime', error));
if (runtime !== undefined) await serve(runtime);

async function serve({ InferenceSession, Tensor }: typeof import('onnxruntime-node')): Promise<void> {
  const { modelPath } = workerData as ModelWorkerData;
  const session = await InferenceSession.create(modelPath, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  }).catch((error: Error) => giveUp('model', error));
  if (session === undefined) return;

  port.on('message', async ({ id, rows, pixels }: ModelRequest) => {
    try {
      const outputs = await session.run({ input: new Tensor('float32', pixels, [rows, 1, 8, 8]) });
      const probabilities = outputs.probabilities?.data as Float32Array<ArrayBuffer>;
      reply({ kind: 'answer', id, probabilities }, [probabilities.buffer]);
    } catch (error) {
      reply({ kind: 'failure', id, message: (error as Error).message });
    }
  });
  reply({ kind: 'ready' });
}

function giveUp(what: 'runtime' | 'model', { message }: Error): undefined {
  reply({ kind: 'unusable', what, message });
}

function reply(message: ModelReply, transferred: ArrayBuffer[] = []): void {
  port.postMessage(message, transferred);
}
