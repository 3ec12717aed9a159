/**
 * The worker thread of an ONNX model. The run() of the runtime blocks its thread, so on the main thread no request
 * could be received while a batch runs.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, type Transferable, workerData } from 'node:worker_threads';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { datatypeOfOnnx, type NumericData, onnxTypeOf } from './datatype.js';
import type { OnnxReply, OnnxRequest, OnnxThreadData, SentTensor, Unusable } from './onnx-messages.js';
import { signatureOf } from './onnx-signature.js';

type Runtime = typeof import('onnxruntime-node');

if (parentPort === null) throw new Error('onnx-thread.js is started by OnnxModel, not by hand.');
const port = parentPort;
// If Float16Array exists, the runtime requires it for 16-bit floats but then cannot read it.
delete (globalThis as { Float16Array?: unknown }).Float16Array;
const runtime = await loadRuntime().catch((error: NodeJS.ErrnoException) =>
  reportUnusable(error.code === 'MODULE_NOT_FOUND' ? 'missing' : 'runtime', error),
);
const session = runtime && (await open(runtime, workerData as OnnxThreadData));
if (runtime !== undefined && session !== undefined) serve(runtime, session);

/**
 * A dynamic import, so that a missing or incompatible native library is reported to the model. A global command has no
 * optional packages: then the one of the working directory is used.
 */
async function loadRuntime(): Promise<Runtime> {
  try {
    return await import('onnxruntime-node');
  } catch (error) {
    // ERR_MODULE_NOT_FOUND of Node, MODULE_NOT_FOUND of Yarn's loader. An installed one that fails is reported itself.
    if (!/MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code))) throw error;
    const { resolve } = createRequire(join(process.cwd(), 'package.json'));
    return import(pathToFileURL(resolve('onnxruntime-node')).href);
  }
}

function open(
  { InferenceSession }: Runtime,
  { file, intraOpThreads, gpu }: OnnxThreadData,
): Promise<InferenceSession | undefined> {
  const executionProviders = gpu === undefined ? ['cpu'] : [{ name: 'cuda', deviceId: gpu }, 'cpu'];
  const options = { executionProviders, intraOpNumThreads: intraOpThreads, interOpNumThreads: 1 };
  return InferenceSession.create(file, options).catch((error: Error) =>
    reportUnusable(
      gpu !== undefined && /ExecutionProvider|CUDA/i.test(error.message) ? 'gpu' : 'model',
      error,
    ),
  );
}

function serve({ Tensor }: Runtime, session: InferenceSession): void {
  let signature: ReturnType<typeof signatureOf>;
  try {
    signature = signatureOf(session);
  } catch (error) {
    reportUnusable('model', error as Error);
    return;
  }
  port.on('message', async ({ inputs, outputs }: OnnxRequest) => {
    try {
      const feeds: Record<string, Tensor> = Object.create(null);
      for (const { name, datatype, shape, data } of inputs) {
        feeds[name] = new Tensor(onnxTypeOf(datatype) as 'float32', data as Float32Array, shape);
      }
      answer(await session.run(feeds, outputs), outputs);
    } catch (error) {
      reply({ kind: 'failure', message: (error as Error).message });
    }
  });
  reply({ kind: 'ready', signature });
}

function answer(results: InferenceSession.ReturnType, names: readonly string[]): void {
  // Two outputs may share a buffer, but a buffer can be transferred only once.
  const transferred = new Set<ArrayBuffer>();
  const outputs: SentTensor[] = [];
  for (const name of names) {
    const { type, dims, data } = results[name] as Tensor;
    const datatype = datatypeOfOnnx(type);
    if (datatype === undefined) throw new Error(`output ${JSON.stringify(name)} is of type ${type}`);
    if (datatype === 'BYTES') {
      outputs.push({ name, datatype, shape: dims, data: data as string[] });
      continue;
    }
    const numbers = whole(datatype === 'FP16' ? bitsOf(data as Uint16Array) : (data as Float32Array));
    transferred.add(numbers.buffer as ArrayBuffer);
    outputs.push({ name, datatype, shape: dims, data: numbers });
  }
  reply({ kind: 'answer', outputs }, [...transferred]);
}

/** Newer versions of Node have a Float16Array. */
function bitsOf(data: NumericData): Uint16Array {
  return data instanceof Uint16Array ? data : new Uint16Array(data.buffer, data.byteOffset, data.length);
}

/** Transferring a view would transfer the whole buffer. */
function whole(data: NumericData): NumericData {
  return data.byteLength === data.buffer.byteLength ? data : data.slice();
}

function reportUnusable(what: Unusable['what'], { message }: Error): undefined {
  reply({ kind: 'unusable', what, message });
}

function reply(message: OnnxReply, transferred: Transferable[] = []): void {
  port.postMessage(message, transferred);
}
