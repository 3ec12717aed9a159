/** The embeddings in an answer, in the order of the texts. */
import { BatchwiseError, type Results } from 'batchwise';

interface Row {
  readonly index?: unknown;
  readonly embedding?: unknown;
}

/** Throws `BAD_RESULT` when the answer as a whole is not of the form `{ data: [{ index, embedding }] }`. */
export function embeddingsOf(
  name: string,
  answer: unknown,
  texts: number,
  dimensions: number | undefined,
): Results<Float32Array> {
  const bad = (problem: string) =>
    new BatchwiseError('BAD_RESULT', `${name}: the answer of the service ${problem}.`);
  const data = (answer as { data?: unknown } | null)?.data;
  if (!Array.isArray(data)) throw bad('has no array "data"');
  const results: (Float32Array | Error | undefined)[] = new Array(texts).fill(undefined);
  for (const [position, row] of (data as readonly (Row | null)[]).entries()) {
    const index = row?.index ?? position;
    if (typeof index !== 'number' || !(index in results)) {
      throw bad(`has an embedding with the index ${String(index)} for ${texts} texts`);
    }
    if (results[index] !== undefined) throw bad(`has two embeddings with the index ${index}`);
    const embedding = decoded(row?.embedding);
    const length = embedding?.length ?? 0;
    if (embedding === undefined || length === 0) {
      results[index] = bad(`has no array of numbers and no base64 text as embedding with the index ${index}`);
    } else if (dimensions !== undefined && length !== dimensions) {
      results[index] = bad(`has an embedding of ${length} dimensions, expected ${dimensions}`);
    } else results[index] = embedding;
  }
  return results.map((result, index) => result ?? bad(`has no embedding with the index ${index}`));
}

function decoded(embedding: unknown): Float32Array | undefined {
  if (typeof embedding === 'string') return fromBase64(embedding);
  if (!Array.isArray(embedding)) return undefined;
  const values = new Float32Array(embedding.length);
  for (let i = 0; i < values.length; i++) {
    const value: unknown = embedding[i];
    if (typeof value !== 'number') return undefined;
    values[i] = value;
  }
  return values;
}

/** 32-bit floats, little-endian. */
function fromBase64(text: string): Float32Array | undefined {
  let bytes: string;
  try {
    bytes = atob(text);
  } catch {
    return undefined;
  }
  if (bytes.length % 4 !== 0) return undefined;
  const view = new DataView(new ArrayBuffer(bytes.length));
  for (let i = 0; i < bytes.length; i++) view.setUint8(i, bytes.charCodeAt(i));
  const values = new Float32Array(bytes.length / 4);
  for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(4 * i, true);
  return values;
}
