/** Unary calls to a real server of grpc-js, with and without reflection, and to one of our own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { frameOf, GrpcError, GrpcServer, messageOf, STATUS } from '@batchwise/grpc';
import {
  Metadata,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { afterAll, describe, expect, test } from 'vitest';
import { makeCertificates } from '../../../redis/test/support/certificates.js';
import { createTarget } from '../../src/targets/create-target.js';
import type { TargetSpec } from '../../src/targets/target-spec.js';
import { counted, sendAll } from '../support/send-all.js';

const PROTO = `
syntax = "proto3";
package shop.v1;
import "shop/types.proto";
service Classifier {
  rpc Classify(ClassifyRequest) returns (ClassifyResponse);
  rpc Describe(ClassifyRequest) returns (ClassifyResponse);
  rpc Watch(ClassifyRequest) returns (stream ClassifyResponse);
}
message ClassifyRequest {
  repeated float input_row = 1;
  Mode mode = 2;
  map<string, int64> limits = 3;
  bytes raw = 4;
  Options options = 5;
  bool is_sure = 6;
}
message ClassifyResponse { string label = 1; }
`;
const TYPES = `
syntax = "proto3";
package shop.v1;
enum Mode { MODE_FAST = 0; MODE_EXACT = 1; }
message Options { string tenant_name = 1; int32 top = 2; }
`;

const folder = mkdtempSync(join(tmpdir(), 'batchwise-load-'));
afterAll(() => rmSync(folder, { recursive: true }));
const proto = join(folder, 'classifier.proto');
writeFileSync(proto, PROTO.replace('shop/types.proto', 'types.proto'));
writeFileSync(join(folder, 'types.proto'), TYPES);
const definition = loadSync(proto, { keepCase: true, longs: Number });

interface ClassifyRequest {
  readonly input_row: readonly number[];
  readonly options: { readonly tenant_name: string } | null;
}
type Call = ServerUnaryCall<ClassifyRequest, { label: string }>;

/** What the server does is the tenant's name. */
const BEHAVIOURS: Readonly<Record<string, (call: Call, callback: sendUnaryData<{ label: string }>) => void>> =
  {
    ok: (call, callback) => {
      const headers = new Metadata();
      headers.set('batchwise-batch-size', '2');
      headers.set('batchwise-queue-ms', '0.5');
      headers.set('batchwise-compute-ms', '7');
      call.sendMetadata(headers);
      callback(null, { label: 'seven' });
    },
    full: (_call, callback) => callback({ code: status.RESOURCE_EXHAUSTED, details: 'queue full' }),
    down: (_call, callback) => callback({ code: status.UNAVAILABLE, details: 'no backend' }),
    silent: () => {},
  };

class ClassifierServer implements AsyncDisposable {
  readonly requests: ClassifyRequest[] = [];
  readonly #server = new Server();
  port = 0;

  static async start(reflected: PackageDefinition | undefined): Promise<ClassifierServer> {
    const started = new ClassifierServer();
    const service = definition['shop.v1.Classifier'] as Record<string, MethodDefinition<object, object>>;
    const answer = (call: Call, callback: sendUnaryData<{ label: string }>) => {
      started.requests.push(call.request);
      BEHAVIOURS[call.request.options?.tenant_name || 'ok']?.(call, callback);
    };
    started.#server.addService(service, { Classify: answer, Describe: answer, Watch: () => {} });
    if (reflected !== undefined) new ReflectionService(reflected).addToServer(started.#server);
    started.port = await new Promise((resolve, reject) => {
      started.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
        if (error) reject(error);
        else resolve(port);
      });
    });
    return started;
  }

  spec(more: Partial<TargetSpec> = {}): TargetSpec {
    return { url: `grpc://127.0.0.1:${this.port}/shop.v1.Classifier/Classify`, ...more };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
  }
}

const tenant = (name: string) => ({ json: { options: { tenantName: name } } });

describe.each([
  ['reflection', definition, undefined],
  ['a .proto file', undefined, proto],
])('JSON data with %s', (_title, reflected, file) => {
  const schema = file === undefined ? {} : { proto: file };

  test('is encoded: names of both forms, enums, maps, bytes, 64-bit integers', async () => {
    await using server = await ClassifierServer.start(reflected);
    const json = {
      inputRow: [1, 2.5],
      mode: 'MODE_EXACT',
      limits: { a: '12', b: 3 },
      raw: 'AAEC',
      options: { tenant_name: 'ok', top: 3 },
      is_sure: true,
    };
    const target = createTarget(server.spec({ data: [{ json }], ...schema }));
    expect(target.name).toBe('shop.v1.Classifier/Classify');
    await target.prepare();
    expect(await sendAll(target, 1, 1)).toEqual([
      { kind: 'ok', responseBytes: 7, batchSize: 2, queueMs: 0.5, computeMs: 7 },
    ]);
    expect(server.requests[0]).toEqual({
      input_row: [1, 2.5],
      mode: 1,
      limits: { a: 12, b: 3 },
      raw: Buffer.from([0, 1, 2]),
      options: { tenant_name: 'ok', top: 3 },
      is_sure: true,
    });
    await target.close();
  });

  test.each([
    [
      { inputRows: [1] },
      /data\.inputRows: .*ClassifyRequest has no such field\. Its fields: input_row, mode/,
    ],
    [{ input_row: ['1'] }, /data\.input_row\[0\]: expected a number \(float\), got "1"/],
    [{ input_row: 1 }, /data\.input_row: expected an array, got 1/],
    [{ mode: 'SLOW' }, /data\.mode: expected one of MODE_FAST, MODE_EXACT, got "SLOW"/],
    [{ options: { top: 1.5 } }, /data\.options\.top: expected a whole number \(int32\), got 1\.5/],
    [{ limits: { a: true } }, /data\.limits\.a: expected a whole number \(int64\), got true/],
    [{ raw: [1] }, /data\.raw: expected bytes in base64, got \[1\]/],
    [[1], /data: expected a JSON object for shop\.v1\.ClassifyRequest, got \[1\]/],
  ])('that does not fit the message is told before the run: %j', async (json, message) => {
    await using server = await ClassifierServer.start(reflected);
    const target = createTarget(server.spec({ data: [{ json }], ...schema }));
    await expect(target.prepare()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(message),
    });
    await target.close();
  });

  test.each([
    ['Classifier/Clasify', /has no method Clasify\. Its unary methods: Classify, Describe\./],
    ['Classifier/Watch', /is a stream: expected a unary method/],
    ['Classifiers/Classify', /has no service shop\.v1\.Classifiers\. Its services: .*shop\.v1\.Classifier/],
  ])('a method that does not exist is told before the run: %s', async (method, message) => {
    await using server = await ClassifierServer.start(reflected);
    const url = `grpc://127.0.0.1:${server.port}/shop.v1.${method}`;
    const target = createTarget({ url, data: [tenant('ok')], ...schema });
    await expect(target.prepare()).rejects.toMatchObject({ message: expect.stringMatching(message) });
    await target.close();
  });
});

test('statuses are counted under their names; RESOURCE_EXHAUSTED is a rejection', async () => {
  await using server = await ClassifierServer.start(definition);
  const target = createTarget(server.spec({ data: [tenant('ok'), tenant('full'), tenant('down')] }));
  await target.prepare();
  expect(counted(await sendAll(target, 150, 10))).toEqual({
    ok: 50,
    'rejected RESOURCE_EXHAUSTED: queue full': 50,
    'failed UNAVAILABLE: no backend': 50,
  });
  expect(target.connections).toBe(1);
  expect(server.requests).toHaveLength(150);
  await target.close();
  expect(target.connections).toBe(0);
});

test('calls without a response end with the time limit, or with the target', async () => {
  await using server = await ClassifierServer.start(definition);
  const limited = createTarget(server.spec({ data: [tenant('silent')], timeoutMs: 50 }));
  await limited.prepare();
  expect(counted(await sendAll(limited, 5, 5))).toEqual({ 'failed no response within 50 ms': 5 });
  await limited.close();
  const unlimited = createTarget(server.spec({ data: [tenant('silent')] }));
  await unlimited.prepare();
  const ends = sendAll(unlimited, 5, 5);
  await unlimited.close();
  expect(counted(await ends)).toEqual({ 'failed stopped': 5 });
});

test('a server that dies is an outcome; users without pauses do not stop the event loop', async () => {
  const server = await ClassifierServer.start(definition);
  const target = createTarget(server.spec({ data: [tenant('ok')] }));
  await target.prepare();
  await sendAll(target, 10, 2);
  await server[Symbol.asyncDispose]();
  const outcomes = await sendAll(target, 200, 4);
  expect(outcomes.every(({ kind, reason }) => kind === 'failed' && reason?.startsWith('UNAVAILABLE: '))).toBe(
    true,
  );
  await target.close();
});

test('JSON data without .proto and reflection is told before the run; bytes are sent', async () => {
  await using server = await ClassifierServer.start(undefined);
  const json = createTarget(server.spec({ data: [tenant('ok')] }));
  await expect(json.prepare()).rejects.toMatchObject({ message: expect.stringContaining('no reflection') });
  await json.close();
  // Field 1, two floats.
  const base64 = Buffer.from('0a080000803f00000040', 'hex').toString('base64');
  const bytes = createTarget(server.spec({ data: [{ base64 }] }));
  await bytes.prepare();
  expect(counted(await sendAll(bytes, 3, 1))).toEqual({ ok: 3 });
  expect(server.requests[0]?.input_row).toEqual([1, 2]);
  await bytes.close();
});

describe('a server of our own', () => {
  const { ca, server: identity } = makeCertificates();

  test('with TLS, metadata, figures of the batch in trailers, and few streams per connection', async () => {
    const waiting: (() => void)[] = [];
    const server = new GrpcServer({
      tls: { cert: identity.cert, key: identity.key },
      limits: { maxConcurrentStreams: 4 },
      onCall: (call) => {
        if (call.path !== '/a.B/C') {
          // Reflection that is not for everyone: bytes are sent all the same.
          call.fail(new GrpcError(STATUS.PERMISSION_DENIED, 'not for you'));
          return;
        }
        call.readUnary((frame) => {
          const echo = frameOf(Buffer.concat([messageOf(frame), Buffer.from(String(call.headers['x-key']))]));
          waiting.push(() => call.answer(echo, {}, { 'batchwise-batch-size': '12' }));
          // All at once, when as many as there are users are here: each has a stream of its own.
          if (waiting.length === 12) for (const answer of waiting.splice(0)) answer();
        });
      },
    });
    const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
    const data = [{ base64: 'AAEC' }];
    const url = `grpcs://127.0.0.1:${port}/a.B/C`;
    const target = createTarget({ url, data, headers: { 'X-Key': 'key' }, tls: { ca } });
    await target.prepare();
    const outcomes = await sendAll(target, 24, 12);
    expect(outcomes).toEqual(Array(24).fill({ kind: 'ok', responseBytes: 6, batchSize: 12 }));
    expect(target.connections).toBeGreaterThanOrEqual(3);
    await target.close();
    server.destroy();
  });
});

test('a refused connection is told before the run', async () => {
  const server = await ClassifierServer.start(undefined);
  const spec = server.spec();
  await server[Symbol.asyncDispose]();
  const target = createTarget(spec);
  await expect(target.prepare()).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('refused the connection'),
  });
  await target.close();
});
