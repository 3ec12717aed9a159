/** Upstreams with invalid responses: the errors of the callers, and the number of calls. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { frameOf, messageOf } from '@batchwise/grpc';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createUpstreamRunner,
  type Runner,
  readInferRequest,
  type UpstreamSettings,
  writeInferResponse,
} from '../../src/index.js';
import { WireWriter } from '../../src/open-inference/wire-writer.js';
import { floats } from '../support/fake-model.js';
import { enqueue } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';
import { startFailure } from '../support/start-failure.js';
import { until } from '../support/until.js';

async function runnerFor(url: string, changes: Partial<UpstreamSettings> = {}): Promise<Runner> {
  const defaults = settingsWith();
  const upstream = { ...defaults.upstream, url: [url], ...changes };
  const runner = createUpstreamRunner({ name: 'm', settings: { ...defaults, upstream } });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return runner;
}

const row = (value: number) => ({ inputs: new Map([['x', floats([1, 2], [value, 1])]]) });

async function ask(runner: Runner, items: readonly unknown[]) {
  const outcomes = items.map((item) => enqueue(runner, item));
  await Promise.all(outcomes.map((outcome) => until(() => outcome.settled > 0, 'an answer')));
  return outcomes;
}

describe('ModelInfer', () => {
  const SPEC = { datatype: 'FP32', shape: [-1, 2] } as const;

  function metadata(): Buffer {
    const response = new WireWriter();
    for (const [field, name] of [
      [4, 'x'],
      [5, 'y'],
    ] as const) {
      const tensor = new WireWriter();
      tensor.text(1, name);
      tensor.text(2, SPEC.datatype);
      tensor.bytes(3, Buffer.from([...Array(9).fill(0xff), 0x01, 2])); // -1, 2
      response.message(field, tensor);
    }
    return response.finish();
  }

  /** A server with hand-written responses to ModelInfer. */
  async function server(infer: (stream: ServerHttp2Stream, rows: number) => void) {
    let infers = 0;
    const http2 = createHttp2();
    http2.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('error', () => {});
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const method = headers[':path']?.split('/').at(-1);
        if (method === 'ModelReady') return respond(stream, [frameOf(Buffer.from([8, 1]))]);
        if (method === 'ModelMetadata') return respond(stream, [frameOf(metadata())]);
        infers += 1;
        const { inputs } = readInferRequest(messageOf(Buffer.concat(chunks)));
        return infer(stream, inputs[0]?.shape[0] ?? 0);
      });
    });
    await new Promise<void>((resolve) => http2.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void http2.close());
    const { port } = http2.address() as AddressInfo;
    return { url: `grpc://127.0.0.1:${port}`, infers: () => infers };
  }

  function respond(stream: ServerHttp2Stream, frames: readonly Buffer[], status = '0'): void {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
    for (const frame of frames) stream.write(frame);
    stream.end();
  }

  const answer = (rows: number) =>
    frameOf(
      writeInferResponse({
        modelName: 'm',
        modelVersion: '',
        id: '',
        isRaw: true,
        outputs: [['y', floats([rows, 2], Array(2 * rows).fill(1))]],
      }),
    );

  test('with a valid response succeeds', async () => {
    const { url } = await server((stream, rows) => respond(stream, [answer(rows)]));
    const outcomes = await ask(await runnerFor(url), [row(1), row(2)]);
    expect(outcomes.map(({ error }) => error)).toEqual([undefined, undefined]);
  });

  test.each<[string, (stream: ServerHttp2Stream, rows: number) => void, RegExp]>([
    ['OK and no message', (stream) => respond(stream, []), /expected one message, got none/],
    [
      'two messages',
      (stream, rows) => respond(stream, [answer(rows), answer(rows)]),
      /expected one message, got more/,
    ],
    [
      'half a message',
      (stream, rows) => respond(stream, [answer(rows).subarray(0, 9)]),
      /the stream ended inside a message/,
    ],
    ['an invalid status', (stream) => respond(stream, [], '99'), /grpc-status "99"/],
  ])('that is answered with %s is sent once, and the upstream stays available', async (_, infer, message) => {
    // Root cause: an invalid response counted as a fault of requests, and the batch was bisected, or as an outage.
    const { url, infers } = await server(infer);
    const runner = await runnerFor(url, { maxFailures: 1 });
    const outcomes = await ask(runner, [1, 2, 3, 4].map(row));
    for (const { error } of outcomes) {
      expect(error).toMatchObject({ code: 'BAD_RESULT' });
      expect(error?.message).toMatch(message);
    }
    expect(infers()).toBe(1);
    expect(runner.state).toBe('ready');
  });
});

describe('over HTTP', () => {
  async function server(answer: (request: IncomingMessage, body: string, response: ServerResponse) => void) {
    const http = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => answer(request, body, response));
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }

  test('one NaN prediction fails only its item', async () => {
    // Root cause: Python writes NaN, which is not valid JSON. The response was invalid, which failed the whole batch.
    const url = await server((_, body, response) => {
      const { instances } = JSON.parse(body) as { instances: number[] };
      response.end(`{"predictions": [${instances.map((value) => (value === 3 ? 'NaN' : value))}]}`);
    });
    const outcomes = await ask(await runnerFor(`${url}/m:predict`), [1, 2, 3, 4]);
    expect(outcomes.map(({ result, error }) => result ?? error?.code)).toEqual([1, 2, 'HANDLER_FAILED', 4]);
    expect(outcomes[2]?.error?.message).toMatch(/the upstream: its response contains NaN or Infinity/);
  });

  const tensor = { name: 'x', datatype: 'FP32', shape: [-1, 2] };
  const model = (more: (body: string) => unknown, ready: unknown = {}) =>
    server(({ url = '' }, body, response) => {
      if (url.endsWith('/ready')) response.end(JSON.stringify(ready));
      else if (url.endsWith('/infer')) response.end(String(more(body)));
      else response.end(JSON.stringify({ inputs: [tensor], outputs: [{ ...tensor, name: 'y' }] }));
    });

  interface JsonRequest {
    readonly id: string;
    readonly inputs: [{ readonly shape: number[]; readonly data: (number | null)[] }];
  }
  const output = ({ inputs: [{ shape, data }] }: JsonRequest) =>
    `"outputs": [{"name": "y", "datatype": "FP32", "shape": [${shape}], "data": [${data.map((value) => (value === 3 ? 'NaN' : value))}]}]`;

  test('one NaN output fails only its request', async () => {
    const url = await model((body) => `{${output(JSON.parse(body) as JsonRequest)}}`);
    const outcomes = await ask(await runnerFor(url, { format: 'json' }), [1, 2, 3, 4].map(row));
    expect(outcomes.map(({ error }) => error?.code)).toEqual([
      undefined,
      undefined,
      'HANDLER_FAILED',
      undefined,
    ]);
  });

  test('NaN is not sent as null', async () => {
    // Root cause: JSON.stringify() writes NaN as null, and the upstream computed something else.
    const seen: string[] = [];
    const url = await model((body) => {
      seen.push(body);
      return `{${output(JSON.parse(body) as JsonRequest)}}`;
    });
    const outcomes = await ask(await runnerFor(url, { format: 'json' }), [row(1), row(Number.NaN), row(2)]);
    expect(outcomes.map(({ error }) => error?.code)).toEqual([undefined, 'INVALID_ITEM', undefined]);
    expect(seen.join()).not.toContain('null');
  });

  test('the response to another request is rejected', async () => {
    const url = await model((body) => {
      const request = JSON.parse(body) as JsonRequest;
      return `{"id": "${Number(request.id) - 1}", ${output(request)}}`;
    });
    const [outcome] = await ask(await runnerFor(url, { format: 'json' }), [row(1)]);
    expect(outcome?.error).toMatchObject({
      code: 'BAD_RESULT',
      message: expect.stringMatching(/id: expected/),
    });
  });

  test('a model that reports {"ready": false} with status 200 is not ready', async () => {
    // Root cause: only the status was checked.
    const url = await model(() => '', { ready: false });
    const why = /was not ready within \d+ ms: .*"ready": false/;
    const error = await startFailure((startTimeoutMs) => runnerFor(url, { startTimeoutMs }), why);
    expect(error).toMatchObject({ message: expect.stringMatching(why) });
  });
});
