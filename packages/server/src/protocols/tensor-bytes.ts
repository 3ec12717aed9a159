/**
 * The binary form of a tensor: little-endian, row-major, nothing in between. A BOOL is a byte 0 or 1, an
 * element of BYTES its length in four bytes and then itself. All platforms we run on are little-endian,
 * so the memory of a tensor already is its binary form.
 */
import { bytesPerElement, type Datatype, type Tensor, type TensorData } from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { typedView } from './typed-view.js';

const PREFIX_BYTES = 4;

export interface BinaryTensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly elements: number;
  /** The name of the size, as the request has it. */
  readonly where: string;
}

/** Copies only what is not aligned: otherwise the tensor is a view on `bytes`. */
export function tensorFromBytes(tensor: BinaryTensor, bytes: Buffer): Tensor {
  const { datatype, shape } = tensor;
  const data = datatype === 'BYTES' ? readTexts(tensor, bytes) : readElements(tensor, datatype, bytes);
  return { datatype, shape, data };
}

function readElements(tensor: BinaryTensor, datatype: Exclude<Datatype, 'BYTES'>, bytes: Buffer): TensorData {
  const size = bytesPerElement(datatype) ?? 1;
  if (bytes.length !== tensor.elements * size) {
    throw badRequest(
      tensor.where,
      `expected ${tensor.elements * size}, for ${tensor.elements} elements of ${size} bytes, got ${bytes.length}.`,
    );
  }
  if (datatype === 'BOOL') {
    const bad = bytes.findIndex((byte) => byte > 1);
    if (bad >= 0) {
      throw badRequest(tensor.where, `expected bytes 0 or 1 for BOOL, got ${bytes[bad]} as element ${bad}.`);
    }
  }
  if (bytes.byteOffset % size === 0) {
    return typedView(datatype, bytes.buffer, bytes.byteOffset, tensor.elements);
  }
  const copy = new Uint8Array(bytes);
  return typedView(datatype, copy.buffer, 0, tensor.elements);
}

function readTexts(tensor: BinaryTensor, bytes: Buffer): readonly Uint8Array[] {
  if (tensor.elements * PREFIX_BYTES > bytes.length) {
    throw badRequest(
      tensor.where,
      `expected at least ${tensor.elements * PREFIX_BYTES}, for the lengths of ${tensor.elements} elements, got ${bytes.length}.`,
    );
  }
  const texts = new Array<Uint8Array>(tensor.elements);
  let at = 0;
  for (let index = 0; index < texts.length; index++) {
    const left = bytes.length - at - PREFIX_BYTES;
    const length = left < 0 ? 0 : bytes.readUInt32LE(at);
    if (length > left) {
      const needed = left < 0 ? 'a length of 4 bytes' : `${length} bytes`;
      throw badRequest(
        tensor.where,
        `expected ${needed} for element ${index}, got ${left < 0 ? left + PREFIX_BYTES : left}.`,
      );
    }
    texts[index] = bytes.subarray(at + PREFIX_BYTES, at + PREFIX_BYTES + length);
    at += PREFIX_BYTES + length;
  }
  if (at !== bytes.length) {
    throw badRequest(
      tensor.where,
      `expected ${at}, which is what its ${tensor.elements} elements take, got ${bytes.length}.`,
    );
  }
  return texts;
}

/** A view on the tensor where its memory is contiguous, which only BYTES is not. */
export function tensorToBytes(tensor: Tensor): Buffer {
  const { data } = tensor;
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const size = data.reduce((sum, text) => sum + PREFIX_BYTES + text.length, 0);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for (const text of data) {
    at = bytes.writeUInt32LE(text.length, at);
    bytes.set(text, at);
    at += text.length;
  }
  return bytes;
}
