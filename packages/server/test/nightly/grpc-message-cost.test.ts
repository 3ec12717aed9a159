/**
 * Random ModelInfer messages, most of them large and repetitive in a random place: none may block the event loop of a
 * server at default limits. Prints the most expensive one by time and by time per byte.
 */
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MeasuredServer } from '../serve-support/event-loop-cost.js';
import { framed, sendFramed } from '../serve-support/grpc-frames.js';
import { field, inputField, message, varint } from '../serve-support/infer-bytes.js';

const RUNS = 2000;
const TIME_LIMIT_MS = 600_000;
const LARGEST = 4 * 1024 * 1024 - 4096;
/** Shorter messages have no time per byte worth a comparison. */
const LEAST_BYTES = 64 * 1024;

/** Of the models of the measured server: the input, its datatype, its row, and one element typed and raw. */
const MODELS = {
  ids: ['x', 'INT64', [], Buffer.of(0x18, 1), 8],
  texts: ['x', 'BYTES', [], Buffer.of(0x42, 0), 4],
  bytes: ['x', 'UINT8', [], Buffer.of(0x20, 1), 1],
  wide: ['x', 'FP32', [1], Buffer.of(0x35, 0, 0, 0, 0), 4],
  iris: ['input', 'FP32', [4], Buffer.of(0x35, 0, 0, 0, 0), 4],
} as const;

const length = fc.oneof(fc.nat(100), fc.nat(100_000), fc.nat(LARGEST));

/** One field of any number and type with little in it. */
const unit = fc
  .tuple(fc.integer({ min: 1, max: 16 }), fc.constantFrom(0, 1, 2, 2, 2, 5), fc.uint8Array({ maxLength: 6 }))
  .map(([number, wireType, content]) => {
    if (wireType === 2) return field(number, content);
    const bytes = wireType === 0 ? 1 : wireType === 1 ? 8 : 4;
    return Buffer.concat([varint(number * 8 + wireType), Buffer.alloc(bytes, content[0] ?? 0).fill(1, 0, 1)]);
  });

/** The same few fields again and again. */
const filling = fc.tuple(fc.array(unit, { minLength: 1, maxLength: 4 }), length).map(([units, bytes]) => {
  const once = Buffer.concat(units);
  return Buffer.alloc(bytes - (bytes % once.length), once);
});

const request = fc
  .record({
    model: fc.constantFrom(...(Object.keys(MODELS) as (keyof typeof MODELS)[])),
    rows: fc.oneof(fc.nat(10), fc.nat(5000), fc.nat(LARGEST)),
    zeroRow: fc.boolean(),
    form: fc.constantFrom('raw', 'packed', 'one by one'),
    place: fc.constantFrom('message', 'input', 'output', 'contents', 'parameter', 'shape'),
    filling,
    hasFilling: fc.boolean(),
  })
  .map(({ model, rows, zeroRow, form, place, filling: fill, hasFilling }) => {
    const [name, datatype, ownRow, element, rawBytes] = MODELS[model];
    const row = zeroRow && model === 'wide' ? [0] : ownRow;
    const perRow = row.reduce((product: number, each) => product * each, 1);
    const most = Math.floor(
      LARGEST / ((form === 'raw' ? rawBytes : form === 'packed' ? 1 : element.length) * Math.max(1, perRow)),
    );
    const shape = [perRow === 0 ? rows : Math.min(rows, most), ...row];
    const count = (shape[0] as number) * perRow;
    const at = (here: string) => (hasFilling && place === here ? fill : Buffer.alloc(0));
    const contents = form === 'raw' ? Buffer.alloc(0) : elements(element, count, form === 'packed');
    const rest = Buffer.concat([
      field(5, Buffer.concat([contents, at('contents')])),
      at('input'),
      field(3, at('shape')),
      field(4, at('parameter')),
    ]);
    const parts = [inputField(name, datatype, shape, form === 'raw' && !hasFilling ? Buffer.alloc(0) : rest)];
    if (form === 'raw') parts.push(field(7, Buffer.alloc(count * rawBytes)));
    return message(model, ...parts, field(6, at('output')), at('message'));
  });

function elements(element: Buffer, count: number, isPacked: boolean): Buffer {
  const number = (element[0] as number) >> 3;
  if (!isPacked || number === 8) return Buffer.alloc(count * element.length, element);
  return field(number, Buffer.alloc(count * (element.length - 1), element.subarray(1)));
}

const call = fc.record({
  isZipped: fc.boolean(),
  frameBytes: fc.constantFrom(16_384, 16_384, 16_384, 1000, 64, 1),
});

let server: MeasuredServer;
beforeAll(async () => {
  server = await MeasuredServer.start();
});
afterAll(() => server.close());

test('no random message blocks the event loop for more than 100 ms', async () => {
  const end = performance.now() + TIME_LIMIT_MS;
  let mostMs = { ms: 0, bytes: 0, isZipped: false, frameBytes: 0, start: '' };
  let mostPerByte = { nsPerByte: 0, bytes: 0 };
  const property = fc.asyncProperty(request, call, async (bytes, { isZipped, frameBytes }) => {
    // Not fast-check's own limit, which would leave a request under way.
    if (performance.now() > end) return;
    const body = isZipped ? framed(gzipSync(bytes, { level: 1 }), true) : framed(bytes);
    const encoding = isZipped ? { encoding: 'gzip' } : {};
    const ms = await server.cost(() => sendFramed(server.grpcPort, body, { ...encoding, frameBytes }));
    if (ms > mostMs.ms) {
      const start = bytes.toString('hex', 0, 64);
      mostMs = { ms, bytes: bytes.length, isZipped, frameBytes, start };
    }
    const nsPerByte = (ms * 1e6) / bytes.length;
    if (bytes.length >= LEAST_BYTES && nsPerByte > mostPerByte.nsPerByte)
      mostPerByte = { nsPerByte, bytes: bytes.length };
    expect(ms).toBeLessThanOrEqual(server.limitMs);
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true });
  console.log('the longest turn:', mostMs, 'the most expensive bytes:', mostPerByte);
});
