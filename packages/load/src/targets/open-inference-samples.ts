/** Requests of the Open Inference Protocol: samples as they are, with binary tensors, or random ones for the model. */
import { randomStream } from '@batchwise/arena';
import {
  BINARY_HEADER,
  elementCount,
  encodeRaw,
  isDatatype,
  isJsonObject,
  type JsonObject,
  jsonInferRequest,
  MessageError,
  newData,
  type Signature,
  setElement,
  signatureOfJson,
  type Tensor,
  tensorFromFlatJson,
  tensorFromNestedJson,
} from '@batchwise/runners';
import { type Clock, realClock } from 'batchwise';
import { LoadError } from '../load-error.js';
import type { HttpConnections } from './http-connections.js';
import type { EncodedSample } from './http-target.js';
import type { Sample, TargetSpec } from './target-spec.js';
import { expiredReason } from './time-limit.js';

/** As many different random requests: more than one, so that a cache of the server does not answer all of them. */
const RANDOM_SAMPLES = 16;
const RANDOM_SEED = 1;
/** Random integers are below it: indices of classes and tokens that every model has. */
const RANDOM_INTEGERS = 10;
const QUESTION_TIMEOUT_MS = 10_000;

export async function openInferenceSamples(
  spec: TargetSpec,
  connections: HttpConnections,
  clock: Clock = realClock,
): Promise<EncodedSample[]> {
  const isBinary = spec.protocol === 'open-inference-binary';
  const { data = [] } = spec;
  if (data.length === 0) return randomSamples(await signatureOf(spec, connections, clock), isBinary);
  return data.map((sample, index) =>
    encoded(sample, isBinary, data.length === 1 ? 'data' : `data[${index}]`),
  );
}

function encoded(sample: Sample, isBinary: boolean, where: string): EncodedSample {
  if (!('json' in sample) || !isJsonObject(sample.json) || !Array.isArray(sample.json.inputs)) {
    const got = 'json' in sample ? (JSON.stringify(sample.json)?.slice(0, 80) ?? 'nothing') : 'bytes';
    throw invalid(
      `${where}: expected an inference request with inputs: [{ name, datatype, shape, data }], got ${got}.`,
    );
  }
  const { json } = sample;
  try {
    const tensors = sample.json.inputs.map((input, index) => tensorOf(input, `${where}.inputs[${index}]`));
    return isBinary ? withBinaryTail(json, tensors) : asJson(JSON.stringify(json));
  } catch (error) {
    if (error instanceof MessageError) throw invalid(error.message, error);
    throw error;
  }
}

function tensorOf(input: unknown, where: string): Tensor {
  if (!isJsonObject(input)) throw invalid(`${where}: expected { name, datatype, shape, data }.`);
  const { name, datatype, shape, data } = input;
  if (typeof name !== 'string')
    throw invalid(`${where}.name: expected a string, got ${JSON.stringify(name)}.`);
  if (!isDatatype(datatype)) {
    throw invalid(
      `${where}.datatype: expected a datatype such as FP32 or INT64, got ${JSON.stringify(datatype)}.`,
    );
  }
  if (!isShape(shape)) {
    throw invalid(`${where}.shape: expected an array of whole numbers, got ${JSON.stringify(shape)}.`);
  }
  if (!Array.isArray(data)) throw invalid(`${where}.data: expected an array, got ${JSON.stringify(data)}.`);
  const tensor = { datatype, shape, elements: elementCount(shape), place: { root: `${where}.data` } };
  const isNested = shape.length > 1 && Array.isArray(data[0]);
  return isNested
    ? tensorFromNestedJson(tensor, data, Number.POSITIVE_INFINITY)
    : tensorFromFlatJson(tensor, data);
}

function isShape(shape: unknown): shape is number[] {
  return Array.isArray(shape) && shape.every((length) => Number.isSafeInteger(length) && length >= 0);
}

function withBinaryTail(json: JsonObject, tensors: readonly Tensor[]): EncodedSample {
  const tail = tensors.map(encodeRaw);
  const inputs = (json.inputs as JsonObject[]).map(({ data: _inTail, ...input }, index) => ({
    ...input,
    parameters: { ...(input.parameters as object), binary_data_size: tail[index]?.length },
  }));
  const parameters = { binary_data_output: true, ...(json.parameters as object) };
  const head = Buffer.from(JSON.stringify({ ...json, inputs, parameters }));
  return {
    body: Buffer.concat([head, ...tail]),
    headers: ['content-type', 'application/octet-stream', BINARY_HEADER, String(head.length)],
  };
}

function asJson(text: string): EncodedSample {
  return { body: Buffer.from(text), headers: ['content-type', 'application/json'] };
}

function randomSamples({ inputs }: Signature, isBinary: boolean): EncodedSample[] {
  const random = randomStream(RANDOM_SEED, 'inputs');
  return Array.from({ length: RANDOM_SAMPLES }, (_, number) => {
    const tensors = new Map<string, Tensor>();
    for (const { name, datatype, shape: lengths } of inputs) {
      // A dimension of any length.
      const shape = lengths.map((length) => (length < 0 ? 1 : length));
      const data = newData(datatype, elementCount(shape));
      for (let i = 0; i < data.length; i++) setElement(datatype, data, i, randomElement(datatype, random));
      tensors.set(name, { datatype, shape, data });
    }
    const { headers, body } = jsonInferRequest({
      id: String(number),
      inputs: tensors,
      outputs: undefined,
      isBinary,
    });
    return { body, headers: Object.entries(headers).flat() };
  });
}

function randomElement(datatype: Tensor['datatype'], random: () => number): unknown {
  switch (datatype) {
    case 'BOOL':
      return random() < 0.5;
    case 'BYTES':
      return Math.floor(random() * 2 ** 32).toString(16);
    case 'FP16':
    case 'FP32':
    case 'FP64':
      return random();
    default:
      return Math.floor(random() * RANDOM_INTEGERS);
  }
}

/** Asks the server what the model takes. */
async function signatureOf(
  { url, headers }: TargetSpec,
  connections: HttpConnections,
  clock: Clock,
): Promise<Signature> {
  const path = new URL(url).pathname.slice(0, -'/infer'.length);
  const request = {
    method: 'GET',
    path,
    headers: Object.entries(headers ?? {}).flat(),
    body: null,
    wantsBody: true,
  };
  const { failure, status, body } = await new Promise<{
    failure: string | undefined;
    status: number;
    body: Buffer;
  }>((resolve) => {
    // The requests of a run may have no time limit. The connection is closed with the target.
    const timer = clock.setTimer(() => {
      resolve({ failure: expiredReason(QUESTION_TIMEOUT_MS), status: 0, body: Buffer.alloc(0) });
    }, QUESTION_TIMEOUT_MS);
    connections.send(request, (response) => {
      clock.clearTimer(timer);
      resolve({ failure: response.failure, status: response.status, body: Buffer.from(response.body) });
    });
  });
  const question = `Without data, the inputs of the model are requested (GET ${path})`;
  if (failure !== undefined) throw new LoadError('UNREACHABLE', `${question}, which failed: ${failure}.`);
  if (status !== 200) {
    const said = body.toString('utf8', 0, 200);
    throw new LoadError('UNREACHABLE', `${question}, but the response is ${status}: ${said}`);
  }
  try {
    return signatureOfJson(JSON.parse(body.toString()) as JsonObject);
  } catch (error) {
    throw new LoadError(
      'UNREACHABLE',
      `${question}, but the response is invalid: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

function invalid(message: string, cause?: unknown): LoadError {
  return new LoadError('INVALID_OPTION', message, { cause });
}
