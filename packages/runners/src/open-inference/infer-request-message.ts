/** ModelInferRequest in both directions. Reading takes no more of anything than a model could want. */
import type { Tensors } from '../tensor.js';
import type { InferRequestMessage, TensorMessage } from './infer-message.js';
import { malformed } from './message-error.js';
import { encodeRaw } from './raw-tensor.js';
import { quoted } from './shown-value.js';
import { checkCount, readTensorMessage, tensorMessage } from './tensor-message.js';
import { WireReader } from './wire-reader.js';
import { WireWriter } from './wire-writer.js';

/** Parameters of other servers' extensions that would change what is read or answered: refused rather than overlooked. */
const UNSUPPORTED_PARAMETERS: ReadonlySet<string> = new Set(['shared_memory_region', 'classification']);

export function readInferRequest(bytes: Uint8Array): InferRequestMessage {
  const reader = new WireReader(bytes, 'message');
  const inputs: TensorMessage[] = [];
  const outputs: string[] = [];
  const rawInputContents: Uint8Array[] = [];
  let modelName = '';
  let modelVersion = '';
  let id = '';
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        modelName = reader.text();
        break;
      case 2:
        modelVersion = reader.text();
        break;
      case 3:
        id = reader.text();
        break;
      case 5:
        inputs.push(readTensorMessage(reader.bytes(), `inputs[${inputs.length}]`, checkParameter));
        checkCount('inputs', inputs);
        break;
      case 6:
        outputs.push(requestedOutput(reader.bytes(), `outputs[${outputs.length}]`));
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
  return { modelName, modelVersion, id, inputs, outputs, rawInputContents };
}

export interface InferQuestion {
  readonly modelName: string;
  /** Empty leaves the choice to the server. */
  readonly modelVersion: string;
  readonly id: string;
  readonly inputs: Tensors;
  /** Those that are wanted; all of them unless given. */
  readonly outputs: readonly string[] | undefined;
}

/**
 * With all inputs raw. Leaves `headroom` bytes free at the front, for the prefix of whatever carries it: another
 * copy of a large batch would cost as much as the first.
 */
export function writeInferRequest(question: InferQuestion, headroom = 0): Buffer {
  const request = new WireWriter();
  request.text(1, question.modelName);
  request.text(2, question.modelVersion);
  request.text(3, question.id);
  for (const [name, { datatype, shape }] of question.inputs) {
    request.message(5, tensorMessage(name, datatype, shape));
  }
  for (const name of question.outputs ?? []) {
    const output = new WireWriter();
    output.text(1, name);
    request.message(6, output);
  }
  for (const tensor of question.inputs.values()) request.bytes(7, encodeRaw(tensor));
  return request.finish(headroom);
}

function requestedOutput(bytes: Uint8Array, where: string): string {
  const reader = new WireReader(bytes, where);
  let name = '';
  while (reader.next()) {
    if (reader.field === 1) name = reader.text();
    else if (reader.field === 2) checkParameter(reader.bytes(), `${where}.parameters`);
    else reader.skip();
  }
  return name;
}

function checkParameter(entry: Uint8Array, where: string): void {
  const reader = new WireReader(entry, where);
  while (reader.next()) {
    if (reader.field !== 1) {
      reader.skip();
      continue;
    }
    const name = reader.text();
    if (UNSUPPORTED_PARAMETERS.has(name)) {
      throw malformed(where, `${quoted(name)} is an extension that is not served here.`);
    }
  }
}
