/** Reads and writes ModelInferRequest. Reading enforces limits on the number of fields and tensors. */
import type { Tensors } from '../tensor.js';
import type { InferRequestMessage, TensorMessage } from './infer-message.js';
import { malformed } from './message-error.js';
import { encodeRaw } from './raw-tensor.js';
import { quoted } from './shown-value.js';
import { checkCount, readTensorMessage, tensorMessage } from './tensor-message.js';
import { FieldBudget, NO_BYTES, textOf, WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';

/**
 * Parameters of other servers' extensions that would change the meaning of the request or the response. They are
 * rejected, not ignored.
 */
const UNSUPPORTED_PARAMETERS: ReadonlySet<string> = new Set(['shared_memory_region', 'classification']);

/** The default for `maxFields`: reading this many fields takes 10 to 30 ms. */
const MAX_FIELDS = 2 ** 16;

/** Throws for a message with more than `maxFields` fields: names, parameters, elements that are not packed. */
export function readInferRequest(bytes: Uint8Array, maxFields = MAX_FIELDS): InferRequestMessage {
  const budget = new FieldBudget(maxFields);
  const reader = new WireReader(bytes, 'message', budget);
  const inputs: TensorMessage[] = [];
  const outputs: string[] = [];
  const rawInputContents: Uint8Array[] = [];
  let modelName = NO_BYTES;
  let modelVersion = NO_BYTES;
  let id = NO_BYTES;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        modelName = reader.bytes();
        break;
      case 2:
        modelVersion = reader.bytes();
        break;
      case 3:
        id = reader.bytes();
        break;
      case 5:
        inputs.push(readTensorMessage(reader.bytes(), `inputs[${inputs.length}]`, budget, checkParameter));
        checkCount('inputs', inputs);
        break;
      case 6:
        outputs.push(requestedOutput(reader.bytes(), `outputs[${outputs.length}]`, budget));
        checkCount('outputs', outputs);
        break;
      case 7:
        rawInputContents.push(reader.bytes());
        checkCount('raw_input_contents', rawInputContents);
        break;
      default:
        reader.skip();
    }
  }
  return {
    modelName: textOf(modelName),
    modelVersion: textOf(modelVersion),
    id: textOf(id),
    inputs,
    outputs,
    rawInputContents,
  };
}

export interface InferRequestFields {
  readonly modelName: string;
  /** Empty: the server chooses. */
  readonly modelVersion: string;
  readonly id: string;
  readonly inputs: Tensors;
  /** The requested outputs. Undefined: all outputs. */
  readonly outputs: readonly string[] | undefined;
}

/**
 * Writes all inputs raw. Leaves `headroom` bytes free at the front for the prefix of the transport, because a second
 * copy of a large batch would cost as much as the first.
 */
export function writeInferRequest(request: InferRequestFields, headroom = 0): Buffer {
  const message = new WireWriter();
  message.text(1, request.modelName);
  message.text(2, request.modelVersion);
  message.text(3, request.id);
  for (const [name, { datatype, shape }] of request.inputs) {
    message.message(5, tensorMessage(name, datatype, shape));
  }
  for (const name of request.outputs ?? []) {
    const output = new WireWriter();
    output.text(1, name);
    message.message(6, output);
  }
  for (const tensor of request.inputs.values()) message.bytes(7, encodeRaw(tensor));
  return message.finish(headroom);
}

function requestedOutput(bytes: Uint8Array, where: string, budget: FieldBudget): string {
  const reader = new WireReader(bytes, where, budget);
  let name = NO_BYTES;
  while (reader.next()) {
    if (reader.field === 1) name = reader.bytes();
    else if (reader.field === 2) checkParameter(reader.bytes(), `${where}.parameters`, budget);
    else reader.skip();
  }
  return textOf(name);
}

function checkParameter(entry: Uint8Array, where: string, budget: FieldBudget): void {
  const reader = new WireReader(entry, where, budget);
  let key = NO_BYTES;
  while (reader.next()) {
    if (reader.field === 1) key = reader.bytes();
    else reader.skip();
  }
  const name = textOf(key);
  if (UNSUPPORTED_PARAMETERS.has(name)) {
    throw malformed(where, `${quoted(name)} is an unsupported extension.`);
  }
}
