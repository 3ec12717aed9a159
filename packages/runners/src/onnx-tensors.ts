/** Converts tensors for the transfer between a model and its threads, which share no memory. */
import { BatchwiseError } from 'batchwise';
import { type NumericData, newData } from './datatype.js';
import type { SentTensor } from './onnx-messages.js';
import type { Tensor, Tensors } from './tensor.js';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

/** Data that the model does not own is copied, so that its owner can still use it. */
export function packTensors(
  tensors: Tensors,
  isOwned: boolean,
): { readonly sent: SentTensor[]; readonly transferred: ArrayBuffer[] } {
  const sent: SentTensor[] = [];
  const transferred: ArrayBuffer[] = [];
  for (const [name, tensor] of tensors) {
    const { datatype, shape } = tensor;
    if (datatype === 'BYTES') {
      sent.push({ name, datatype, shape, data: stringsOf(name, tensor.data as readonly Uint8Array[]) });
      continue;
    }
    let data = tensor.data as NumericData;
    if (!isOwned || !isWhole(data) || transferred.includes(data.buffer)) data = copyOf(tensor);
    transferred.push(data.buffer as ArrayBuffer);
    sent.push({ name, datatype, shape, data });
  }
  return { sent, transferred };
}

export function unpackTensors(sent: readonly SentTensor[]): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const { name, datatype, shape, data } of sent) {
    const own =
      datatype === 'BYTES'
        ? (data as readonly string[]).map((text) => encoder.encode(text))
        : (data as NumericData);
    tensors.set(name, { datatype, shape, data: own });
  }
  return tensors;
}

/** Transferring a view would transfer the whole buffer. */
function isWhole(data: NumericData): data is NumericData & { buffer: ArrayBuffer } {
  return data.buffer instanceof ArrayBuffer && data.byteLength === data.buffer.byteLength;
}

function copyOf({ datatype, data }: Tensor): NumericData {
  // Not slice(): on a Buffer it returns a view.
  const copy = newData(datatype, data.length) as Float32Array;
  copy.set(data as Float32Array);
  return copy;
}

function stringsOf(name: string, elements: readonly Uint8Array[]): string[] {
  return elements.map((bytes, index) => {
    // The runtime would silently truncate the text there.
    if (bytes.includes(0)) {
      const message = `input ${JSON.stringify(name)}: expected text without a zero byte in element ${index}, got one.`;
      throw new BatchwiseError('INVALID_ITEM', message);
    }
    try {
      return utf8.decode(bytes);
    } catch (error) {
      const message = `input ${JSON.stringify(name)}: expected UTF-8 in element ${index}, got other bytes.`;
      throw new BatchwiseError('INVALID_ITEM', message, { cause: error });
    }
  });
}
