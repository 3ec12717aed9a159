/** Whatever is thrown at it over either port, it says no and goes on. */
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { failureOf, InferenceClient } from '../../../server/test/grpc/support/inference-client.js';
import { problemIn } from './support/http-client.js';
import {
  binaryInfer,
  expectInferred,
  expectProbabilities,
  inferBody,
  type Sample,
  samplesOf,
} from './support/model-samples.js';
import { model, Serving } from './support/serving.js';

const INFER = '/v2/models/iris/infer';
const LIMIT = 1024 * 1024;
const one: readonly Sample[] = samplesOf('iris').slice(0, 1);
const good = inferBody('iris', one);
const JSON_TYPE = { 'content-type': 'application/json' };

describe.each([
  ['one process', []],
  ['web processes', ['--workers', '2']],
])('%s', (_, workers) => {
  let server: Serving;
  let grpc: InferenceClient;
  let pids: readonly number[];

  const processes = () => [server.pid, ...server.pids('web'), ...server.pids('runner')];

  beforeAll(async () => {
    server = await Serving.start([model('iris'), '--grpc-port', '0', ...workers], {
      yaml: `server:\n  limits:\n    body_bytes: ${LIMIT}\n`,
    });
    grpc = new InferenceClient(server.grpcPort);
    pids = processes();
  });

  afterAll(async () => {
    grpc?.close();
    await Serving.endAll();
  });

  afterEach(async () => {
    expectInferred(await server.client.post(INFER, good), one);
    expect(processes()).toEqual(pids);
  });

  const refused = async (body: Buffer, headers: Record<string, string> = JSON_TYPE, path = INFER) => {
    const { status, code, detail } = problemIn(await server.client.ask('POST', path, body, headers));
    expect(detail.length).toBeLessThan(1000);
    return `${status} ${code}`;
  };

  test('a body that is too large, with its length or without', async () => {
    expect(await refused(Buffer.alloc(LIMIT + 1, ' '))).toBe('413 TOO_LARGE');
    const chunk = `${LIMIT.toString(16)}\r\n${' '.repeat(LIMIT)}\r\n`;
    const head = `POST ${INFER} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n`;
    expect(await answerTo(server.port, head + chunk + chunk)).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('a body that grows a thousandfold', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * LIMIT, ' '));
    expect((64 * LIMIT) / bomb.length).toBeGreaterThan(900);
    expect(await refused(bomb, { ...JSON_TYPE, 'content-encoding': 'gzip' })).toBe('413 TOO_LARGE');
    expect(await refused(bomb.subarray(0, 50), { ...JSON_TYPE, 'content-encoding': 'gzip' })).toBe(
      '400 BAD_REQUEST',
    );
    expect(await refused(Buffer.from('{}'), { ...JSON_TYPE, 'content-encoding': 'gzip' })).toBe(
      '400 BAD_REQUEST',
    );
  });

  test('an honest body in gzip is taken', async () => {
    const body = gzipSync(Buffer.from(JSON.stringify(good)));
    expectInferred(
      await server.client.ask('POST', INFER, body, { ...JSON_TYPE, 'content-encoding': 'gzip' }),
      one,
    );
  });

  test.each<[string, string]>([
    ['names of prototypes', '{"__proto__":{"inputs":[]},"constructor":{"prototype":{"polluted":1}}}'],
    ['inputs in a prototype', `{"inputs":[{"__proto__":${JSON.stringify(good.inputs[0])}}]}`],
    ['arrays 100,000 deep', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects 100,000 deep', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    [
      'data 100,000 deep',
      `{"inputs":[{"name":"input","datatype":"FP32","shape":[1,4],"data":${'['.repeat(100_000)}1${']'.repeat(100_000)}}]}`,
    ],
    [
      'a shape beyond all memory',
      '{"inputs":[{"name":"input","datatype":"FP32","shape":[9007199254740991,4],"data":[1,2,3,4]}]}',
    ],
    [
      'a shape below nothing',
      '{"inputs":[{"name":"input","datatype":"FP32","shape":[-1,4],"data":[1,2,3,4]}]}',
    ],
    [
      'numbers beyond numbers',
      '{"inputs":[{"name":"input","datatype":"FP32","shape":[1,4],"data":[1e999,2,3,4]}]}',
    ],
    ['null', 'null'],
    ['nothing', ''],
    ['no text', '\ud800\u0000\u0001'],
  ])('%s', async (__, body) => {
    expect(await refused(Buffer.from(body))).toBe('400 BAD_REQUEST');
  });

  test('rows that are prototypes, 100,000 deep, or no rows at all', async () => {
    const path = '/v1/models/iris:predict';
    for (const instances of [
      '{"__proto__":[[1,2,3,4]]}',
      `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      '[]',
      '[[1,2,3]]',
    ])
      expect(await refused(Buffer.from(`{"instances":${instances}}`), JSON_TYPE, path)).toBe(
        '400 BAD_REQUEST',
      );
  });

  test.each<[string, (whole: Buffer, head: number) => [Buffer, string]]>([
    ['tensors that end early', (whole, head) => [whole.subarray(0, -3), String(head)]],
    ['tensors that go on', (whole, head) => [Buffer.concat([whole, Buffer.alloc(5)]), String(head)]],
    ['no tensors', (whole, head) => [whole.subarray(0, head), String(head)]],
    ['a head that is too short', (whole, head) => [whole, String(head - 1)]],
    ['a head beyond the body', (whole) => [whole, String(whole.length + 1)]],
    ['a head of no length', (whole) => [whole, '-1']],
    ['a head of any length', (whole) => [whole, '1e9']],
    [
      'a size that lies',
      (whole) => {
        const text = whole.toString('latin1').replace('"binary_data_size":16', '"binary_data_size":99999999');
        return [Buffer.from(text, 'latin1'), String(text.length - 16)];
      },
    ],
  ])('in the binary extension: %s', async (__, change) => {
    const { body, headers } = binaryInfer('iris', one);
    const length = Number(headers['inference-header-content-length']);
    const [changed, head] = change(body, length);
    expect(await refused(changed, { ...headers, 'inference-header-content-length': head })).toBe(
      '400 BAD_REQUEST',
    );
  });

  test('bytes that are no HTTP', async () => {
    const noise = Buffer.from(Array.from({ length: 4096 }, (__, i) => (i * 167 + 13) % 256));
    for (const bytes of [
      noise,
      'GET\r\n\r\n',
      '\u0000',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
    ])
      expect(await answerTo(server.port, bytes)).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(
      await answerTo(
        server.port,
        `POST ${INFER} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
      ),
    ).toMatch(/^HTTP\/1\.1 400 /);
  });

  test('bytes that are no gRPC', async () => {
    const noise = Buffer.from(Array.from({ length: 4096 }, (__, i) => (i * 167 + 13) % 256));
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
    for (const bytes of [
      noise,
      'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n',
      Buffer.concat([Buffer.from(preface), noise]),
    ])
      await answerTo(server.grpcPort, bytes);
    const path = '/inference.GRPCInferenceService/ModelInfer';
    const failure = await failureOf(grpc.callRaw(path, noise));
    expect(['INVALID_ARGUMENT', 'INTERNAL']).toContain(failure.status);
    expect((await failureOf(grpc.callRaw(path, Buffer.alloc(2 * LIMIT)))).status).toBe('RESOURCE_EXHAUSTED');
    const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 4] }];
    const truncated = grpc.infer({ model_name: 'iris', inputs, raw_input_contents: [Buffer.alloc(15)] });
    expect((await failureOf(truncated)).status).toBe('INVALID_ARGUMENT');
    const contents = { fp32_contents: one[0]?.input };
    const { response } = await grpc.infer({ model_name: 'iris', inputs: [{ ...inputs[0], contents }] });
    expectProbabilities(response.outputs[0].contents.fp32_contents, one);
  });
});

/** All that comes back until the server hangs up, which it must. */
function answerTo(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket: Socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes);
    });
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
  });
}
