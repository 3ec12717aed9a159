import { createConnection } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Signature } from '@batchwise/runners';
import {
  Client,
  credentials,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer, loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import { VirtualClock } from 'batchwise';
import { describe, expect, onTestFinished, test } from 'vitest';
import { GrpcServer } from '../../src/grpc/grpc-server.js';
import { echo, gated } from './support/fake-runner.js';
import { failureOf, InferenceClient, type Message, packages } from './support/inference-client.js';
import { conversation, reflect } from './support/reflect.js';
import { served } from './support/served.js';

const ONE: Message = {
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents: { fp32_contents: [1] } }],
};
const SIGNATURE: Signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }],
  outputs: [{ name: 'label', datatype: 'INT64', shape: [-1] }],
};

describe('what the server says of itself', () => {
  test('live always, ready when its models are', async () => {
    const runner = echo('m');
    const { client } = await served([runner]);
    expect(await client.ask('ServerLive')).toEqual({ live: true });
    expect(await client.ask('ServerReady')).toEqual({ ready: true });
    expect(await client.ask('ModelReady', { name: 'm' })).toEqual({ ready: true });
    runner.state = 'loading';
    expect(await client.ask('ServerLive')).toEqual({ live: true });
    expect(await client.ask('ServerReady')).toEqual({ ready: false });
    expect(await client.ask('ModelReady', { name: 'm', version: '1' })).toEqual({ ready: false });
  });

  test('its name, version and extensions', async () => {
    const { client } = await served([]);
    expect(await client.ask('ServerMetadata')).toEqual({
      name: 'batchwise',
      version: '1.2.3',
      extensions: ['binary_tensor_data'],
    });
  });

  test('what its models take and give', async () => {
    const { client } = await served([echo('m', SIGNATURE)]);
    expect(await client.ask('ModelMetadata', { name: 'm' })).toEqual({
      name: 'm',
      versions: ['1'],
      platform: 'fake',
      inputs: [{ name: 'x', datatype: 'FP32', shape: ['-1', '4'] }],
      outputs: [{ name: 'label', datatype: 'INT64', shape: ['-1'] }],
    });
  });

  test('nothing of a model that it does not know, or not yet', async () => {
    const { client } = await served([echo('m')]);
    for (const method of ['ModelReady', 'ModelMetadata']) {
      expect(await failureOf(client.ask(method, { name: 'toString' }))).toMatchObject({
        status: 'NOT_FOUND',
        details: 'name: There is no model "toString"; this server has "m".',
      });
      expect(await failureOf(client.ask(method, { name: 'm', version: '2' }))).toMatchObject({
        status: 'NOT_FOUND',
        details: 'version: There is no version "2" of the model "m"; it has "1".',
      });
    }
    expect(await failureOf(client.ask('ModelMetadata', { name: 'm' }))).toMatchObject({
      status: 'UNAVAILABLE',
    });
  });
});

describe('health', () => {
  test('is known of the server, the service and each model', async () => {
    const [up, down] = [echo('up'), echo('down')];
    down.state = 'loading';
    const { client, server } = await served([up, down]);
    expect(await client.health('')).toEqual({ status: 'NOT_SERVING' });
    expect(await client.health('up')).toEqual({ status: 'SERVING' });
    expect(await client.health('down')).toEqual({ status: 'NOT_SERVING' });
    down.state = 'ready';
    expect(await client.health('')).toEqual({ status: 'SERVING' });
    expect(await client.health('inference.GRPCInferenceService')).toEqual({ status: 'SERVING' });
    server.setServing(false);
    expect(await client.health('')).toEqual({ status: 'NOT_SERVING' });
    expect(await client.health('up')).toEqual({ status: 'NOT_SERVING' });
    expect(await failureOf(client.health('__proto__'))).toMatchObject({
      status: 'NOT_FOUND',
      details: expect.stringContaining('got "__proto__"'),
    });
  });

  test('is told to those who watch when a model goes away and comes back', async () => {
    const [steady, dying] = [echo('steady'), echo('dying')];
    const { client } = await served([steady, dying]);
    const told: Record<string, string[]> = { '': [], steady: [], dying: [] };
    const changed: Record<string, (() => void) | undefined> = {};
    const words = async (service: string, count: number) => {
      while ((told[service]?.length ?? 0) < count) {
        await new Promise<void>((resolve) => {
          changed[service] = resolve;
        });
      }
    };
    for (const service of Object.keys(told)) {
      const watch = client.watch(service);
      onTestFinished(() => watch.cancel());
      watch.on('error', () => {});
      watch.on('data', ({ status: current }: Message) => {
        told[service]?.push(current);
        changed[service]?.();
      });
      await words(service, 1);
    }
    dying.state = 'loading';
    await words('dying', 2);
    dying.state = 'ready';
    await words('dying', 3);
    await words('', 3);
    const changes = ['SERVING', 'NOT_SERVING', 'SERVING'];
    expect(told).toEqual({ '': changes, steady: ['SERVING'], dying: changes });
  });

  test('is told to those who watch, once for each change, and they are let go when the server drains', async () => {
    const runner = echo('m');
    const { client, server } = await served([runner]);
    const told: Record<string, string[]> = { '': [], m: [], nobody: [] };
    const ended = Object.keys(told).map((service) => {
      const watch = client.watch(service);
      watch.on('data', ({ status: current }: Message) => told[service]?.push(current));
      const firstWord = new Promise((resolve) => watch.once('data', resolve));
      const end = new Promise<ServiceError>((resolve) => watch.on('error', resolve));
      return { firstWord, end };
    });
    await Promise.all(ended.map(({ firstWord }) => firstWord));
    server.setServing(true);
    server.setServing(false);
    server.setServing(false);
    server.setServing(true);
    await server.drain(60_000);
    const errors = await Promise.all(ended.map(({ end }) => end));
    expect(errors.map(({ code }) => code)).toEqual([14, 14, 14]);
    const changes = ['SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING'];
    expect(told).toEqual({ '': changes, m: changes, nobody: ['SERVICE_UNKNOWN'] });
  });
});

describe('reflection', () => {
  test.each(['grpc.reflection.v1', 'grpc.reflection.v1alpha'])('lists the services: %s', async (version) => {
    const { port } = await served([echo('m')]);
    const [list] = await reflect(port, version, [{ list_services: '' }]);
    expect(list?.list_services_response.service.map(({ name }: Message) => name).sort()).toEqual([
      'grpc.health.v1.Health',
      'inference.GRPCInferenceService',
    ]);
  });

  test('describes a service well enough to call it', async () => {
    const { port } = await served([echo('m')]);
    const [answer] = await reflect(port, 'grpc.reflection.v1', [
      { file_containing_symbol: 'inference.GRPCInferenceService' },
    ]);
    const files: Buffer[] = answer?.file_descriptor_response.file_descriptor_proto;
    const reflected = loadFileDescriptorSetFromBuffer(descriptorSet(files), { keepCase: true });
    const method = (reflected['inference.GRPCInferenceService'] as ServiceDefinition).ModelInfer;
    if (!method) throw new Error('expected ModelInfer');
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    onTestFinished(() => client.close());
    const response = await new Promise<Message>((resolve, reject) => {
      const request = { ...ONE, id: 'seven' };
      const { path, requestSerialize, responseDeserialize } = method;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, value) =>
        error ? reject(error) : resolve(value as Message),
      );
    });
    expect(response).toMatchObject({
      id: 'seven',
      outputs: [{ name: 'x', contents: { fp32_contents: [1] } }],
    });
  });
});

describe('a description', () => {
  test('has full names, and calls the entries of a map as strict readers want them', async () => {
    const { port } = await served([]);
    const [answer] = await reflect(port, 'grpc.reflection.v1', [
      { file_containing_symbol: 'inference.ModelInferRequest' },
    ]);
    const codec = loadSync('google/protobuf/descriptor.proto')['google.protobuf.FileDescriptorProto'];
    const { deserialize } = codec as MessageTypeDefinition<object, Message>;
    const file = deserialize(answer?.file_descriptor_response.file_descriptor_proto[0]);
    expect(file).toMatchObject({ package: 'inference', syntax: 'proto3' });
    const request = file.messageType.find(({ name }: Message) => name === 'ModelInferRequest');
    const typeOf = (field: string) => request.field.find(({ name }: Message) => name === field);
    expect(typeOf('inputs').typeName).toBe('.inference.ModelInferRequest.InferInputTensor');
    expect(typeOf('parameters').typeName).toBe('.inference.ModelInferRequest.ParametersEntry');
    expect(typeOf('raw_input_contents').jsonName).toBe('rawInputContents');
    expect(request.nestedType.map(({ name }: Message) => name)).toContain('ParametersEntry');
    expect(file.service[0].method[0].inputType).toBe('.inference.ServerLiveRequest');
  });
});

test('a model is not found by a name with a NUL in it, nor by the part before that', async () => {
  const { client } = await served([echo('m')]);
  expect(await failureOf(client.infer({ ...ONE, model_name: 'm\0' }))).toMatchObject({
    status: 'NOT_FOUND',
    details: 'model_name: There is no model "m\\u0000"; this server has "m".',
  });
});

describe('limits', () => {
  test('a message that is too large is turned away, and so is one that decompresses to it', async () => {
    const ended: string[] = [];
    const { client, port } = await served([echo('m')], {
      limits: { messageBytes: 1000 },
      onCall: { started: () => {}, ended: (method, name) => ended.push(`${method} ${name}`) },
    });
    await client.infer(ONE);
    const large = {
      model_name: 'm',
      inputs: [{ name: 'x', datatype: 'UINT8', shape: [2000] }],
      raw_input_contents: [Buffer.alloc(2000)],
    };
    expect(await failureOf(client.infer(large))).toMatchObject({
      status: 'RESOURCE_EXHAUSTED',
      details: 'expected a message of at most 1000 bytes, got 2022 (server.limits.body_bytes)',
    });
    const { serialize } = packages['inference.ModelInferRequest'] as MessageTypeDefinition<Message, object>;
    expect(gzipSync(serialize(large)).length).toBeLessThan(1000);
    const zipping = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      'grpc.default_compression_algorithm': 2,
    });
    onTestFinished(() => zipping.close());
    const error = await new Promise<ServiceError | null>((resolve) =>
      zipping.makeUnaryRequest(
        '/inference.GRPCInferenceService/ModelInfer',
        (request: Message) => serialize(request),
        (bytes) => bytes,
        large,
        new Metadata(),
        resolve,
      ),
    );
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
    // Who counts calls is told of those that grpc-js turned away by itself, too.
    const method = 'inference.GRPCInferenceService/ModelInfer';
    expect(ended).toEqual([`${method} OK`, `${method} RESOURCE_EXHAUSTED`, `${method} RESOURCE_EXHAUSTED`]);
  });

  test('calls beyond those that may be worked on at a time are told so, and others again when there is room', async () => {
    const runner = gated('m');
    const { client } = await served([runner], { limits: { inFlight: 2 } });
    const held = [client.infer(ONE), client.infer(ONE)];
    await runner.until(() => runner.calls.length === 2);
    expect(await failureOf(client.infer(ONE))).toMatchObject({
      status: 'UNAVAILABLE',
      details: 'Too many calls in flight (limit 2).',
    });
    // Who is turned away for another reason takes no place either.
    expect((await failureOf(client.infer({ ...ONE, model_name: 'n' }))).status).toBe('UNAVAILABLE');
    runner.calls[0]?.answer();
    await held[0];
    expect((await failureOf(client.infer({ ...ONE, model_name: 'n' }))).status).toBe('NOT_FOUND');
    const next = client.infer(ONE);
    await runner.until(() => runner.calls.length === 3);
    for (const call of runner.calls) call.answer();
    await Promise.all([...held, next]);
    await client.health('');
  });

  test('no call may take longer than the server allows, whatever its deadline', async () => {
    const runner = echo('m');
    const { client } = await served([runner], { limits: { requestTimeoutMs: 70_000 } });
    await client.infer(ONE);
    await client.infer(ONE, { deadline: Date.now() + 3_600_000 });
    await client.infer(ONE, { deadline: Date.now() + 60_000 });
    const timeouts = runner.calls.map(({ options }) => options.timeoutMs ?? Infinity);
    expect(timeouts.slice(0, 2)).toEqual([70_000, 70_000]);
    expect(timeouts[2]).toBeLessThanOrEqual(60_000);
  });

  test('a request that does not come whole in time is turned away', async () => {
    const clock = new VirtualClock();
    const begun = withResolvers();
    const { port } = await served([echo('m')], {
      clock,
      limits: { receiveTimeoutMs: 1000 },
      onCall: { started: () => begun.resolve(undefined), ended: () => {} },
    });
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    onTestFinished(() => client.close());
    const ended = new Promise<ServiceError | null>((resolve) => {
      client
        .makeClientStreamRequest(
          '/inference.GRPCInferenceService/ModelInfer',
          (bytes: Buffer) => bytes,
          (bytes) => bytes,
          resolve,
        )
        .write(Buffer.alloc(0));
    });
    await begun.promise;
    await clock.advance(1000);
    expect(await ended).toMatchObject({
      code: status.DEADLINE_EXCEEDED,
      details: 'The request was not complete after 1000 ms.',
    });
  });

  test.each([
    [{ messageBytes: 0 }, /^limits\.messageBytes: expected a whole number from 1 to 2147483647, got 0\.$/],
    [{ connections: Number.NaN }, /^limits\.connections: .* got NaN/],
    [{ megabytes: 1 }, /^limits: unknown limit "megabytes"\. Known are messageBytes, /],
  ])('that make no sense are refused: %o', (limits, message) => {
    const options = {
      models: new Map(),
      name: 'n',
      version: 'v',
      isReady: () => true,
      limits: limits as object,
    };
    expect(() => new GrpcServer(options)).toThrow(message);
  });

  test('connections beyond the limit are closed', async () => {
    const { client, port } = await served([echo('m')], { limits: { connections: 1 } });
    await client.infer(ONE);
    const second = new InferenceClient(port);
    onTestFinished(() => second.close());
    expect((await failureOf(second.infer(ONE))).status).toBe('UNAVAILABLE');
    await client.infer(ONE);
  });

  test('somebody who does not speak the protocol disturbs nobody', async () => {
    const { client, port } = await served([echo('m')]);
    await new Promise<void>((resolve) => {
      const socket = createConnection(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n\r\n'));
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.resume();
    });
    await client.infer(ONE);
  });
});

describe('the port', () => {
  test('that is in use is told in words', async () => {
    const { port } = await served([]);
    const server = new GrpcServer({ models: new Map(), name: 'n', version: 'v', isReady: () => true });
    await expect(server.listen('127.0.0.1', port)).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port}: the port is already in use.`,
    );
    // A failed start can be tried again, and closed.
    const { port: other } = await server.listen('127.0.0.1', 0);
    expect(other).not.toBe(port);
    await server.close();
    const unused = new GrpcServer({ models: new Map(), name: 'n', version: 'v', isReady: () => true });
    await unused.close();
  });
});

describe('who counts calls', () => {
  test('is told how each of them began and ended', async () => {
    const events: string[] = [];
    const { client } = await served([echo('m')], {
      onCall: {
        started: (method) => events.push(`+ ${method}`),
        ended: (method, name, ms) => events.push(`- ${method} ${name} ${ms >= 0}`),
      },
    });
    await client.infer(ONE);
    await failureOf(client.infer({ ...ONE, model_name: 'n' }));
    await client.health('');
    expect(events).toEqual([
      '+ inference.GRPCInferenceService/ModelInfer',
      '- inference.GRPCInferenceService/ModelInfer OK true',
      '+ inference.GRPCInferenceService/ModelInfer',
      '- inference.GRPCInferenceService/ModelInfer NOT_FOUND true',
      '+ grpc.health.v1.Health/Check',
      '- grpc.health.v1.Health/Check OK true',
    ]);
  });

  test('is told of those that were given up', async () => {
    const runner = gated('m');
    const ended = withResolvers<string>();
    const { client } = await served([runner], {
      onCall: { started: () => {}, ended: (_, name) => ended.resolve(name) },
    });
    const controller = new AbortController();
    const failure = failureOf(client.infer(ONE, { signal: controller.signal }));
    await runner.until(() => runner.calls.length === 1);
    controller.abort();
    expect(await ended.promise).toBe('CANCELLED');
    await failure;
  });
});

describe('draining', () => {
  test('finishes what was accepted and takes nothing new', async () => {
    const runner = gated('m');
    const { client, server, port } = await served([runner]);
    const accepted = [client.infer({ ...ONE, id: 'a' }), client.infer({ ...ONE, id: 'b' })];
    await runner.until(() => runner.calls.length === 2);
    const drained = server.drain(60_000);
    const late = new InferenceClient(port);
    onTestFinished(() => late.close());
    expect((await failureOf(late.infer(ONE))).status).toBe('UNAVAILABLE');
    expect((await failureOf(client.infer(ONE))).status).toBe('UNAVAILABLE');
    for (const call of runner.calls) call.answer();
    const answers = await Promise.all(accepted);
    expect(answers.map(({ response }) => response.id)).toEqual(['a', 'b']);
    expect(await drained).toBe(0);
    expect(runner.calls).toHaveLength(2);
  });

  test('answers what is left when time is up, and takes it from the runner', async () => {
    const runner = gated('m');
    const { client, server } = await served([runner]);
    const failure = failureOf(client.infer(ONE));
    await runner.until(() => runner.calls.length === 1);
    expect(await server.drain(1)).toBe(1);
    expect(await failure).toMatchObject({
      status: 'UNAVAILABLE',
      details: 'The server is shutting down. Retry on another server.',
    });
    expect(runner.calls[0]?.isCancelled).toBe(true);
  });

  test('does not wait for somebody who might ask for a description some day', async () => {
    const { port, server } = await served([]);
    const { stream, client } = conversation(port, 'grpc.reflection.v1');
    onTestFinished(() => client.close());
    const ended = new Promise<ServiceError>((resolve) => stream.on('error', resolve));
    const answered = new Promise((resolve) => stream.once('data', resolve));
    stream.write({ list_services: '' });
    await answered;
    await server.drain(600_000);
    expect((await ended).code).toBe(status.UNAVAILABLE);
  });

  test('may be asked for twice, and hurried', async () => {
    const runner = gated('m');
    const { client, server } = await served([runner]);
    const failure = failureOf(client.infer(ONE));
    await runner.until(() => runner.calls.length === 1);
    const drained = [server.drain(600_000), server.drain(600_000)];
    await server.close();
    expect(await Promise.all(drained)).toEqual([1, 1]);
    expect((await failure).status).toBe('UNAVAILABLE');
    await server.close();
  });
});

function withResolvers<T = unknown>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Files in one message, each as its field 1. */
function descriptorSet(files: readonly Buffer[]): Buffer {
  return Buffer.concat(files.flatMap((file) => [Buffer.of(0x0a), varint(file.length), file]));
}

function varint(value: number): Buffer {
  return value < 128 ? Buffer.of(value) : Buffer.concat([Buffer.of((value % 128) + 128), varint(value >> 7)]);
}
