/**
 * The frames between the server and the process of a model: a prefix, a JSON header, and raw tensors in a body. The
 * format is specified in docs/reference/wire.md, "Model processes".
 */

import { isDatatype } from '../datatype.js';
import { malformed, tooLarge } from '../open-inference/message-error.js';
import { decodeRaw, encodeRaw } from '../open-inference/raw-tensor.js';
import type { Tensor, Tensors } from '../tensor.js';

/** `BWM1`, little-endian. */
const MAGIC = 0x314d5742;
const PREFIX_BYTES = 16;
const ALIGNMENT = 8;
const MAX_HEADER_BYTES = 2 ** 20;
const MAX_BODY_BYTES = 2 ** 30;

export interface Frame {
  readonly header: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** The buffers of a frame, in order. Tensors of fixed-size elements are not copied. */
export function encodeFrame(header: object, tensors?: Tensors): Buffer[] {
  const descriptions: object[] = [];
  const chunks: Buffer[] = [];
  let bodyBytes = 0;
  for (const [name, tensor] of tensors ?? []) {
    const data = encodeRaw(tensor);
    descriptions.push({ name, datatype: tensor.datatype, shape: tensor.shape, bytes: data.length });
    const padding = -data.length & (ALIGNMENT - 1);
    bodyBytes += data.length + padding;
    chunks.push(data);
    if (padding > 0) chunks.push(ZEROS.subarray(0, padding));
  }
  const text = JSON.stringify(tensors === undefined ? header : { ...header, tensors: descriptions });
  const textBytes = Buffer.byteLength(text);
  const headerBytes = (textBytes + ALIGNMENT - 1) & -ALIGNMENT;
  if (headerBytes > MAX_HEADER_BYTES || bodyBytes > MAX_BODY_BYTES)
    throw tooLarge('batch', `expected at most ${MAX_BODY_BYTES} bytes, got ${bodyBytes}.`);
  const head = Buffer.alloc(PREFIX_BYTES + headerBytes, ' ');
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(headerBytes, 4);
  head.writeBigUInt64LE(BigInt(bodyBytes), 8);
  head.write(text, PREFIX_BYTES);
  return [head, ...chunks];
}

const ZEROS = Buffer.alloc(ALIGNMENT);

/** The tensors of a frame: views of its body. Throws a `MessageError` if header and body do not match. */
export function tensorsOf({ header, body }: Frame): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  const descriptions = header.tensors ?? [];
  if (!Array.isArray(descriptions)) throw malformed('tensors', 'expected a list.');
  let at = 0;
  for (const { name, datatype, shape, bytes } of descriptions) {
    const where = `tensor ${JSON.stringify(name)}`;
    if (typeof name !== 'string' || !isDatatype(datatype) || !isShape(shape) || !isCount(bytes))
      throw malformed(where, 'expected { name, datatype, shape, bytes }.');
    if (at + bytes > body.length) throw malformed(where, 'the body ends before its data.');
    tensors.set(name, decodeRaw(datatype, shape, body.subarray(at, at + bytes), where));
    at = (at + bytes + ALIGNMENT - 1) & -ALIGNMENT;
  }
  if (at !== body.length) throw malformed('body', `expected ${at} bytes, got ${body.length}.`);
  return tensors;
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.every(isCount);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Assembles the chunks of a stream into frames. */
export class FrameReader {
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #headerBytes = 0;
  /** What is being read: the prefix, the header or the body. */
  #part: 'prefix' | 'header' | 'body' = 'prefix';
  #target: Buffer = this.#prefix;
  #filled = 0;
  #bodyBytes = 0;
  #header: Frame['header'] = {};

  /** Calls back for each complete frame. Throws a `MessageError` for a malformed one. */
  push(chunk: Buffer, onFrame: (frame: Frame) => void): void {
    let at = 0;
    while (at < chunk.length) {
      const taken = chunk.copy(this.#target, this.#filled, at);
      at += taken;
      this.#filled += taken;
      if (this.#filled === this.#target.length) this.#complete(onFrame);
    }
  }

  #complete(onFrame: (frame: Frame) => void): void {
    switch (this.#part) {
      case 'prefix':
        this.#readPrefix();
        this.#begin('header', Buffer.allocUnsafe(this.#headerBytes));
        return;
      case 'header':
        this.#header = parseHeader(this.#target);
        // Its own memory, from an aligned address: tensors are views of it.
        this.#begin('body', Buffer.allocUnsafeSlow(this.#bodyBytes));
        if (this.#bodyBytes > 0) return;
        break;
      case 'body':
    }
    const body = this.#target;
    this.#begin('prefix', this.#prefix);
    onFrame({ header: this.#header, body });
  }

  #begin(part: 'prefix' | 'header' | 'body', target: Buffer): void {
    this.#part = part;
    this.#target = target;
    this.#filled = 0;
  }

  #readPrefix(): void {
    const magic = this.#prefix.readUInt32LE(0);
    const headerBytes = this.#prefix.readUInt32LE(4);
    const bodyBytes = Number(this.#prefix.readBigUInt64LE(8));
    if (magic !== MAGIC) throw malformed('frame', 'expected it to begin with BWM1.');
    if (headerBytes === 0 || headerBytes > MAX_HEADER_BYTES || headerBytes % ALIGNMENT !== 0)
      throw malformed('header', lengthText(MAX_HEADER_BYTES, headerBytes));
    if (bodyBytes > MAX_BODY_BYTES || bodyBytes % ALIGNMENT !== 0)
      throw malformed('body', lengthText(MAX_BODY_BYTES, bodyBytes));
    this.#headerBytes = headerBytes;
    this.#bodyBytes = bodyBytes;
  }
}

function parseHeader(bytes: Buffer): Frame['header'] {
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw malformed('header', `expected JSON: ${(error as Error).message}.`);
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header))
    throw malformed('header', 'expected a JSON object.');
  return header as Frame['header'];
}

function lengthText(most: number, got: number): string {
  return `expected at most ${most} bytes, a multiple of ${ALIGNMENT}, got ${got}.`;
}
