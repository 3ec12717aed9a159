/**
 * Messages that were received and are not answered. Root cause of what was found: each was limited, and their sum,
 * of one connection or of all, was not.
 */
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { gzipSync } from 'node:zlib';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ByteBudget } from '../../src/byte-budget.js';
import { echo, type FakeRunner, gated } from './support/fake-runner.js';
import {
  type Failure,
  failureOf,
  InferenceClient,
  type Message,
  packages,
} from './support/inference-client.js';
import { served } from './support/served.js';

const MAX = 4_000_000;
const BYTES = 300_000;

function message(bytes: number): Message {
  const inputs = [{ name: 'x', datatype: 'UINT8', shape: [bytes] }];
  return { model_name: 'm', inputs, raw_input_contents: [Buffer.alloc(bytes)] };
}

async function opened(runner: FakeRunner) {
  const budget = new ByteBudget(MAX);
  return { budget, ...(await served([runner], { budget, limits: { messageBytes: MAX } })) };
}

async function until(condition: () => boolean): Promise<void> {
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
  });
  while (!condition() && !isOver) await new Promise(setImmediate);
}

/** A call whose bytes the test sends. */
function rawCall(port: number, settings = {}, headers = {}) {
  return inferCall(connected(port, settings), headers);
}

function connected(port: number, settings = {}): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings });
  onTestFinished(() => session.destroy());
  session.on('error', () => {});
  return session;
}

describe('messages of calls that are not answered', () => {
  test('of one connection take half of the budget at most; those of others are accepted', async () => {
    const runner = gated('m');
    const { budget, client, port } = await opened(runner);
    const failures: Failure[] = [];
    const calls = Array.from({ length: 25 }, () => client.infer(message(BYTES)));
    for (const call of calls) {
      void failureOf(call).then(
        (failure) => failures.push(failure),
        () => {},
      );
    }
    await until(() => failures.length + runner.calls.length === 25);
    expect(budget.used).toBeLessThanOrEqual(MAX / 2);
    expect(runner.calls.length).toBeGreaterThan(0);
    expect(new Set(failures.map(({ status }) => status))).toEqual(new Set(['RESOURCE_EXHAUSTED']));
    expect(failures[0]?.metadata.get('grpc-retry-pushback-ms')).toEqual(['1000']);

    const other = new InferenceClient(port);
    onTestFinished(() => other.close());
    const accepted = other.infer(message(1000));
    await runner.until(() => runner.calls.some(({ item }) => item.inputs.get('x')?.data.length === 1000));
    for (const call of runner.calls) call.answer();
    await Promise.all([accepted, Promise.allSettled(calls)]);
    await until(() => budget.used === 0);
  });

  test('are counted as they come, and given back when the client hangs up', async () => {
    const { budget, port } = await opened(gated('m'));
    const call = rawCall(port);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(1_000_000, 1);
    call.write(Buffer.concat([head, Buffer.alloc(500_000)]));
    await until(() => budget.used === 500_005);
    call.close();
    await until(() => budget.used === 0);
  });

  test('are rejected while they come where there is no room', async () => {
    const { budget, port } = await opened(gated('m'));
    budget.share().add(MAX - 1_000_000);
    const call = rawCall(port);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(2_000_000, 1);
    const told = new Promise<unknown>((resolve) => {
      call.on('response', (headers) => resolve(headers['grpc-status']));
      call.on('trailers', (trailers) => resolve(trailers['grpc-status']));
    });
    call.resume();
    call.write(Buffer.concat([head, Buffer.alloc(1_500_000)]));
    expect(await told).toBe('8');
    await until(() => budget.used === MAX - 1_000_000);
  });

  test('are counted as decompressed', async () => {
    const runner = gated('m');
    const { budget, port } = await opened(runner);
    const plain = bytesOf(message(60_000));
    const zipped = gzipSync(plain.subarray(5));
    expect(zipped.length).toBeLessThan(1000);
    const call = rawCall(port, {}, { 'grpc-encoding': 'gzip' });
    call.end(framed(zipped, 1));
    await runner.until(() => runner.calls.length === 1);
    // With the five bytes of its frame.
    expect(budget.used).toBe(zipped.length + plain.length);
    call.close();
    await until(() => budget.used === 0);
  });

  test('that decompress to more than a hundred times their size are rejected', async () => {
    const { port } = await opened(gated('m'));
    const call = rawCall(port, {}, { 'grpc-encoding': 'gzip' });
    const told = new Promise<unknown>((resolve) => {
      call.on('response', (headers) => resolve(headers['grpc-status']));
    });
    call.resume();
    call.end(framed(gzipSync(Buffer.alloc(3_000_000)), 1));
    expect(await told).toBe('8');
  });

  test('and their answers, until they are taken', async () => {
    const { budget, client, port } = await opened(echo('m'));
    await client.infer(message(BYTES));
    await until(() => budget.used === 0);
    const other = rawCall(port, { initialWindowSize: 0 });
    const bytes = bytesOf(message(BYTES));
    other.end(bytes);
    await until(() => budget.used >= 2 * BYTES);
    other.close();
    await until(() => budget.used === 0);
  });
});

describe('bytes are given back', () => {
  test('of messages whose calls are cancelled while they are decompressed', async () => {
    const { budget, port } = await opened(echo('m'));
    const zipped = framed(gzipSync(bytesOf(message(900_000)).subarray(5)), 1);
    const session = connected(port);
    const calls = Array.from({ length: 12 }, () => gzipCall(session));
    for (const call of calls) call.end(zipped);
    await until(() => budget.used >= 4 * zipped.length);
    for (const call of calls) call.close(constants.NGHTTP2_CANCEL);
    // Decompressed in the order in which they came: after this one, none is left.
    const last = gzipCall(session);
    last.resume();
    last.end(framed(gzipSync(bytesOf(message(1)).subarray(5)), 1));
    await once(last, 'close');
    await until(() => budget.used === 0);
  });

  test('of a rejected message, though the client keeps its stream open and sends more', async () => {
    const { budget, port } = await opened(gated('m'));
    const call = rawCall(port);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(MAX + 1, 1);
    const closed = once(call, 'close');
    const answered = once(call, 'response');
    call.write(Buffer.concat([head, Buffer.alloc(100_000)]));
    const [headers] = await answered;
    expect(headers['grpc-status']).toBe('8');
    call.resume();
    await closed;
    await until(() => budget.used === 0);
  });

  test('of a message that does not come in time', async () => {
    const budget = new ByteBudget(MAX);
    const { port } = await served([gated('m')], { budget, limits: { receiveTimeoutMs: 50 } });
    const call = rawCall(port);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(1_000_000, 1);
    const answered = once(call, 'response');
    call.write(Buffer.concat([head, Buffer.alloc(500_000)]));
    const [headers] = await answered;
    expect(headers['grpc-status']).toBe('4');
    call.resume();
    await until(() => budget.used === 0);
  });
});

describe('answers that are not read', () => {
  test('leave room for the requests of others', async () => {
    const large = new Map([
      ['y', { datatype: 'UINT8' as const, shape: [BYTES], data: new Uint8Array(BYTES) }],
    ]);
    const runner = gated('m');
    const { budget, port } = await opened(runner);
    const session = connected(port, { initialWindowSize: 0 });
    for (let i = 0; i < 50; i++) inferCall(session).end(bytesOf(message(10)));
    await runner.until(() => runner.calls.length === 50);
    for (const call of runner.calls) call.answer(large);
    expect(budget.used).toBeGreaterThan(BYTES);
    expect(budget.used).toBeLessThan(0.9 * MAX);
    const other = new InferenceClient(port);
    onTestFinished(() => other.close());
    const accepted = other.infer(message(50_000));
    await runner.until(() => runner.calls.length === 51);
    runner.calls[50]?.answer();
    await accepted;
    session.destroy();
    await until(() => budget.used === 0);
  });
});

function inferCall(session: ClientHttp2Session, headers = {}) {
  const call = session.request({
    ':method': 'POST',
    ':path': '/inference.GRPCInferenceService/ModelInfer',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
  call.on('error', () => {});
  return call;
}

function gzipCall(session: ClientHttp2Session) {
  return inferCall(session, { 'grpc-encoding': 'gzip' });
}

/** As it goes over the wire. */
function bytesOf(request: Message): Buffer {
  const service = packages['inference.GRPCInferenceService'] as ServiceDefinition;
  return framed(service.ModelInfer?.requestSerialize(request) as Buffer);
}

function framed(body: Buffer, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}
