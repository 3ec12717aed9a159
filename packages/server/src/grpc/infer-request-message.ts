/** Decodes a ModelInferRequest, and takes no more of anything than a model could want. */
import { badRequest } from '../request-error.js';
import { quoted } from '../shown-value.js';
import type { InferRequestMessage, InputTensorMessage } from './infer-message.js';
import { WIRE_TYPES, WireReader } from './wire-reader.js';

/** Two bytes on the wire can become an object of a hundred in memory: so many may. */
const MOST_TENSORS = 1024;
const MOST_DIMENSIONS = 64;

/** Parameters of other servers' extensions that would change what is read or answered: refused rather than overlooked. */
const UNSUPPORTED_PARAMETERS: ReadonlySet<string> = new Set(['shared_memory_region', 'classification']);

export function inferRequestMessage(bytes: Uint8Array): InferRequestMessage {
  const reader = new WireReader(bytes, 'message');
  const inputs: InputTensorMessage[] = [];
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
        inputs.push(inputTensor(reader.bytes(), `inputs[${inputs.length}]`));
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

function inputTensor(bytes: Uint8Array, where: string): InputTensorMessage {
  const reader = new WireReader(bytes, where);
  const shape: number[] = [];
  let name = '';
  let datatype = '';
  let contents: Uint8Array | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        name = reader.text();
        break;
      case 2:
        datatype = reader.text();
        break;
      case 3:
        readLengths(reader, bytes, shape, `${where}.shape`);
        break;
      case 4:
        checkParameter(reader.bytes(), `${where}.parameters`);
        break;
      case 5: {
        const part = reader.bytes();
        // One after the other they are one message: that is how protobuf merges.
        contents = contents ? Buffer.concat([contents, part]) : part;
        break;
      }
      default:
        reader.skip();
    }
  }
  return { name, datatype, shape, contents };
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

/** Packed, or one by one. */
function readLengths(reader: WireReader, bytes: Uint8Array, shape: number[], where: string): void {
  if (reader.wireType !== WIRE_TYPES.varint) reader.bytes();
  else reader.skip();
  const lengths = new WireReader(bytes, where, reader.from, reader.to);
  while (!lengths.isAtEnd) {
    lengths.varint();
    shape.push(lengths.signed);
    if (shape.length > MOST_DIMENSIONS)
      throw badRequest(where, `expected at most ${MOST_DIMENSIONS} dimensions, got more.`);
  }
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
      throw badRequest(where, `${quoted(name)} is an extension that is not served here.`);
    }
  }
}

function checkCount(where: string, items: readonly unknown[]): void {
  if (items.length > MOST_TENSORS) throw badRequest(where, `expected at most ${MOST_TENSORS}, got more.`);
}
