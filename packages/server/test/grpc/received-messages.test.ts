/**
 * Root cause: grpc-js keeps an object for each DATA frame of a message that is not complete.
 */
import { createHash } from 'node:crypto';
import { deflateSync, gzipSync } from 'node:zlib';
import type { ServerInterceptor } from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { realClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { OpenCalls } from '../../src/grpc/open-calls.js';
import { type FramedCall, framed, sendFramed } from '../serve-support/grpc-frames.js';
import { echo } from './support/fake-runner.js';
import { type Message, packages } from './support/inference-client.js';
import { served } from './support/served.js';

const MIB = 1024 * 1024;
const { serialize } = packages['inference.ModelInferRequest'] as MessageTypeDefinition<Message, Message>;

function zeros(bytes: number): Buffer {
  return serialize({
    model_name: 'm',
    inputs: [{ name: 'x', datatype: 'UINT8', shape: [bytes] }],
    raw_input_contents: [Buffer.alloc(bytes)],
  });
}

/** The status that a call with this body ended with. */
async function statusOf(body: Buffer, call: FramedCall = {}): Promise<string> {
  const ended: string[] = [];
  const { port } = await served([echo('m')], {
    limits: { messageBytes: 4 * MIB },
    onCall: { started: () => {}, ended: (_, name) => ended.push(name) },
  });
  await sendFramed(port, body, call);
  expect(ended.length).toBe(1);
  return ended[0] as string;
}

describe('a message', () => {
  test.each([
    ['in one frame', { frameBytes: 16_384 }],
    ['in frames of 100 bytes', { frameBytes: 100 }],
  ])('is read %s', async (_, call) => {
    expect(await statusOf(framed(zeros(10_000)), call)).toBe('OK');
    expect(await statusOf(framed(zeros(MIB)), call)).toBe('OK');
  });

  test('is read in frames of one byte when it is short, and rejected when it is long', async () => {
    expect(await statusOf(framed(zeros(100)), { frameBytes: 1 })).toBe('OK');
    expect(await statusOf(framed(zeros(MIB)), { frameBytes: 1 })).toBe('RESOURCE_EXHAUSTED');
  });

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('of zeros is decompressed up to a megabyte, and then up to a ratio: %s', async (encoding, compress) => {
    const noise = Array.from({ length: 500 }, (_, index) =>
      createHash('sha512').update(String(index)).digest('hex'),
    );
    const id = serialize({ model_name: 'm', id: noise.join('') });
    expect(await statusOf(framed(compress(zeros(MIB - 100)), true), { encoding })).toBe('OK');
    expect(await statusOf(framed(compress(zeros(MIB + 100)), true), { encoding })).toBe('RESOURCE_EXHAUSTED');
    const mixed = Buffer.concat([id, zeros(MIB + 100)]);
    expect(await statusOf(framed(compress(mixed), true), { encoding })).toBe('OK');
  });

  test('beyond the limit is rejected, compressed or not', async () => {
    expect(await statusOf(framed(Buffer.alloc(4 * MIB + 1)))).toBe('RESOURCE_EXHAUSTED');
    const encoding = 'gzip';
    expect(await statusOf(framed(gzipSync(zeros(60 * MIB)), true), { encoding })).toBe('RESOURCE_EXHAUSTED');
  });

  test('that cannot be decompressed is rejected', async () => {
    expect(await statusOf(framed(Buffer.from('no gzip'), true), { encoding: 'gzip' })).toBe(
      'INVALID_ARGUMENT',
    );
    expect(await statusOf(framed(Buffer.from('x'), true), { encoding: 'br' })).toBe('UNIMPLEMENTED');
  });

  test('may not be followed by others in a unary call', async () => {
    const two = Buffer.concat([framed(zeros(1)), framed(zeros(1))]);
    expect(await statusOf(two)).toBe('UNIMPLEMENTED');
    expect(await statusOf(Buffer.concat(new Array(1000).fill(two)))).toBe('UNIMPLEMENTED');
  });
});

describe('a question', () => {
  test.each([
    '/inference.GRPCInferenceService/ModelReady',
    '/inference.GRPCInferenceService/ModelMetadata',
    '/grpc.health.v1.Health/Check',
    '/grpc.health.v1.Health/Watch',
  ])('of more than 64 KiB is rejected before it is decoded: %s', async (path) => {
    const fields = Buffer.alloc(64 * 1024 + 2, Buffer.from([0x0a, 0]));
    expect(await statusOf(framed(fields), { path })).toBe('RESOURCE_EXHAUSTED');
  });

  test('of reflection too', async () => {
    const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
    const fields = Buffer.alloc(64 * 1024 + 2, Buffer.from([0x22, 0]));
    expect(await statusOf(framed(fields), { path })).toBe('INTERNAL');
    expect(await statusOf(Buffer.concat(new Array(50).fill(framed(Buffer.from([0x3a, 0])))), { path })).toBe(
      'OK',
    );
  });
});

test('a conversation reads its next message when its answers are written', () => {
  const written: (() => void)[] = [];
  let reads = 0;
  const call = {
    start: () => {},
    sendStatus: () => {},
    startRead: () => {
      reads += 1;
    },
    sendMessage: (_: unknown, callback: () => void) => {
      written.push(callback);
    },
  };
  const { intercept } = new OpenCalls(realClock, { receiveTimeoutMs: 0, messageBytes: 1000 }, undefined);
  const [definition, raw] = [
    { path: '/a/b', requestStream: true },
    call,
  ] as unknown as Parameters<ServerInterceptor>;
  intercept(definition, raw);
  call.startRead();
  expect(reads).toBe(1);
  call.sendMessage('answer', () => {});
  call.startRead();
  expect(reads).toBe(1);
  written.shift()?.();
  expect(reads).toBe(2);
});
