/**
 * What one gRPC request may cost everybody else. Root cause of what was found: messages were limited in bytes only, and
 * their cost depends on fields, elements, frames and how far they decompress.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MeasuredServer } from '../serve-support/event-loop-cost.js';
import { type FramedCall, framed, sendFramed } from '../serve-support/grpc-frames.js';
import { field, inputField, message, repeated } from '../serve-support/infer-bytes.js';

const MIB = 1024 * 1024;
/** As large as a message may be, with room for what is around it. */
const LARGEST = 4 * MIB - 4096;
const NONE = Buffer.alloc(0);
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

const raw = (model: string, datatype: string, shape: number[], content: Buffer, name = 'x') =>
  message(model, inputField(name, datatype, shape, NONE), field(7, content));
const typed = (model: string, datatype: string, shape: number[], contents: Buffer) =>
  message(model, inputField('x', datatype, shape, field(5, contents)));
/** In one of the inputs of iris. */
const within = (rest: Buffer) => message('iris', inputField('input', 'FP32', [1, 4], rest));

const FIELDS: readonly (readonly [string, () => Buffer])[] = [
  [
    'empty contents after 2 MiB of them',
    () => within(Buffer.concat([field(5, field(6, Buffer.alloc(2 * MIB))), repeated([0x2a, 0], 40_000)])),
  ],
  ['empty parameters', () => message('iris', repeated([0x22, 0], LARGEST))],
  ['empty model names', () => message('iris', repeated([0x0a, 0], LARGEST))],
  ['empty inputs', () => message('iris', repeated([0x2a, 0], LARGEST))],
  ['empty outputs', () => message('iris', repeated([0x32, 0], LARGEST))],
  ['empty raw contents', () => message('iris', repeated([0x3a, 0], LARGEST))],
  ['unknown fields', () => message('iris', repeated([0x7a, 0], LARGEST))],
  ['unknown numbers', () => message('iris', repeated([0x78, 1], LARGEST))],
  ['groups', () => message('iris', repeated([0x7b, 0x7c], LARGEST))],
  ['names of an input', () => within(repeated([0x0a, 0], LARGEST))],
  ['numbers of a shape', () => within(field(3, repeated([1], LARGEST)))],
  ['empty pieces of a shape', () => within(repeated([0x1a, 0], LARGEST))],
  ['parameters of an input', () => within(repeated([0x22, 2, 0x0a, 0], LARGEST))],
  ['keys of a parameter', () => within(field(4, repeated([0x0a, 0], LARGEST)))],
  ['as many fields as are read', () => within(repeated([0x22, 2, 0x0a, 0], 4 * 32_000))],
  ['empty lists of elements', () => within(field(5, repeated([0x32, 0], LARGEST)))],
  ['a long name', () => message('iris', field(5, field(1, Buffer.alloc(LARGEST, 'é'))))],
];

const TENSORS: readonly (readonly [string, () => Buffer])[] = [
  ['numbers one by one', () => typed('ids', 'INT64', [LARGEST / 2], repeated([0x18, 1], LARGEST))],
  ['packed numbers of a byte', () => typed('ids', 'INT64', [LARGEST], field(3, Buffer.alloc(LARGEST, 1)))],
  [
    'packed numbers that are computed',
    () => typed('ids', 'INT64', [65_536], field(3, Buffer.alloc(65_536, 1))),
  ],
  ['rows of one byte', () => raw('bytes', 'UINT8', [LARGEST], Buffer.alloc(LARGEST))],
  ['rows of iris', () => raw('iris', 'FP32', [65_536, 4], Buffer.alloc(65_536 * 16), 'input')],
  ['empty strings', () => typed('texts', 'BYTES', [LARGEST / 2], repeated([0x42, 0], LARGEST))],
  ['empty strings that are computed', () => typed('texts', 'BYTES', [65_000], repeated([0x42, 0], 130_000))],
  ['empty raw strings', () => raw('texts', 'BYTES', [LARGEST / 4], Buffer.alloc(LARGEST))],
  ['empty raw strings that are computed', () => raw('texts', 'BYTES', [65_536], Buffer.alloc(4 * 65_536))],
  ['rows without elements', () => raw('wide', 'FP32', [100_000, 0], NONE)],
  ['a million rows without elements', () => raw('wide', 'FP32', [1_000_000, 0], NONE)],
  ['one row of a million', () => raw('wide', 'FP32', [1, 1_000_000], Buffer.alloc(4_000_000))],
];

const TRANSPORT: readonly (readonly [string, () => Buffer, FramedCall])[] = [
  ['frames of one byte', () => framed(Buffer.alloc(MIB)), { frameBytes: 1 }],
  ['messages in a unary call', () => Buffer.alloc(5 * 100_000), {}],
  ['compressed messages in a unary call', () => repeated([1, 0, 0, 0, 0], 100_000), { encoding: 'gzip' }],
  ['2 KB with the contents after 2 MiB', () => zipped(FIELDS[0]?.[1]() as Buffer), { encoding: 'gzip' }],
  ['62 MB of empty parameters', () => zipped(repeated([0x22, 0], 62_000_000)), { encoding: 'gzip' }],
  [
    'empty fields of a question',
    () => framed(repeated([0x0a, 0], LARGEST)),
    { path: '/grpc.health.v1.Health/Check' },
  ],
  ['empty fields of reflection', () => framed(repeated([0x22, 0], LARGEST)), { path: REFLECTION }],
  ['questions of reflection', () => Buffer.alloc(5 * 5000), { path: REFLECTION }],
];

const zipped = (bytes: Buffer) => framed(gzipSync(bytes), true);

describe('no gRPC request blocks the event loop for more than 100 ms', () => {
  let server: MeasuredServer;
  beforeAll(async () => {
    server = await MeasuredServer.start();
  });
  afterAll(() => server.close());

  async function expectCheap(body: Buffer, call: FramedCall = {}): Promise<void> {
    const ms = await server.cost(() => sendFramed(server.grpcPort, body, call));
    expect(ms, `CPU time of the longest turn, at most ${server.limitMs}`).toBeLessThanOrEqual(server.limitMs);
  }

  test.each([...FIELDS, ...TENSORS])('%s', (_, body) => expectCheap(framed(body())));
  test.each(TRANSPORT)('%s', (_, body, call) => expectCheap(body(), call));
});
