/** A tensor in the messages of ModelInfer. Inputs, outputs and the metadata of both use the same field numbers. */

import type { TensorMessage } from './infer-message.js';
import { malformed } from './message-error.js';
import { MAX_DIMENSIONS } from './tensor-header.js';
import { type FieldBudget, NO_BYTES, textOf, WIRE_TYPES, WireReader } from './wire-reader.js';
import { WireWriter, writeVarint } from './wire-writer.js';

/** Two bytes on the wire can become an object of 100 bytes in memory, so the number of tensors is limited. */
const MAX_TENSORS = 1024;

/** `checkParameter` is called for each entry of the parameters. Without it they are skipped. */
export function readTensorMessage(
  bytes: Uint8Array,
  where: string,
  budget: FieldBudget,
  checkParameter?: (entry: Uint8Array, where: string, budget: FieldBudget) => void,
): TensorMessage {
  const reader = new WireReader(bytes, where, budget);
  const shape: number[] = [];
  let name = NO_BYTES;
  let datatype = NO_BYTES;
  const contents: Uint8Array[] = [];
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        name = reader.bytes();
        break;
      case 2:
        datatype = reader.bytes();
        break;
      case 3:
        readLengths(reader, bytes, shape, `${where}.shape`);
        break;
      case 4:
        if (checkParameter === undefined) reader.skip();
        else checkParameter(reader.bytes(), `${where}.parameters`, budget);
        break;
      case 5: {
        const part = reader.bytes();
        const fields = new WireReader(part, `${where}.contents`, budget);
        while (fields.next()) fields.skip();
        contents.push(part);
        break;
      }
      default:
        reader.skip();
    }
  }
  // Protobuf merges repeated occurrences of a message field: concatenated, they are one message.
  const merged = contents.length > 1 ? Buffer.concat(contents) : contents[0];
  return { name: textOf(name), datatype: textOf(datatype), shape, contents: merged };
}

/** Writes the fields that every tensor has. The caller can add the contents. */
export function tensorMessage(name: string, datatype: string, shape: readonly number[]): WireWriter {
  const message = new WireWriter();
  message.text(1, name);
  message.text(2, datatype);
  message.bytes(3, packedLengths(shape));
  return message;
}

export function checkCount(where: string, items: readonly unknown[]): void {
  if (items.length > MAX_TENSORS) throw malformed(where, `expected at most ${MAX_TENSORS}, got more.`);
}

/** The lengths may be packed or separate fields. */
function readLengths(reader: WireReader, bytes: Uint8Array, shape: number[], where: string): void {
  if (reader.wireType !== WIRE_TYPES.varint) reader.bytes();
  else reader.skip();
  const lengths = new WireReader(bytes, where, undefined, reader.from, reader.to);
  while (!lengths.isAtEnd) {
    lengths.varint();
    shape.push(lengths.signed);
    if (shape.length > MAX_DIMENSIONS)
      throw malformed(where, `expected at most ${MAX_DIMENSIONS} dimensions, got more.`);
  }
}

/** −1 (any length) takes 64 bits, as all negative numbers do. */
function packedLengths(shape: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(shape.length * 10);
  let at = 0;
  for (const length of shape) at = writeVarint(bytes, at, length, Math.floor(length / 2 ** 32));
  return bytes.subarray(0, at);
}
