/** The Open Inference Protocol against a server that decodes the requests. */
import { BINARY_HEADER, BinaryTail, decodeRaw } from '@batchwise/runners';
import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { createTarget } from '../../src/targets/create-target.js';
import { HttpConnections } from '../../src/targets/http-connections.js';
import { openInferenceSamples } from '../../src/targets/open-inference-samples.js';
import type { TargetSpec } from '../../src/targets/target-spec.js';
import { type ReceivedRequest, ScriptedServer } from '../support/scripted-server.js';
import { counted, sendAll } from '../support/send-all.js';

const METADATA = {
  name: 'digits',
  inputs: [
    { name: 'image', datatype: 'FP32', shape: [-1, 4] },
    { name: 'tokens', datatype: 'INT64', shape: ['-1', '2'] },
    { name: 'text', datatype: 'BYTES', shape: [1] },
    { name: 'mask', datatype: 'BOOL', shape: [3] },
  ],
  outputs: [{ name: 'label', datatype: 'INT64', shape: [-1] }],
};

const startServer = (metadata: unknown = METADATA) =>
  ScriptedServer.start(({ method }, response) => {
    if (method === 'POST') response.end('{"outputs":[]}');
    else if (metadata === undefined) response.writeHead(404).end('{"error":"no such model"}');
    else response.end(JSON.stringify(metadata));
  });

async function requestsOf(
  server: ScriptedServer,
  spec: Partial<TargetSpec>,
  count: number,
): Promise<ReceivedRequest[]> {
  const url = `http://127.0.0.1:${server.port}/v2/models/digits/infer`;
  const target = createTarget({ url, ...spec });
  try {
    await target.prepare();
    expect(counted(await sendAll(target, count, 4))).toEqual({ ok: count });
  } finally {
    await target.close();
  }
  return server.requests.filter(({ method }) => method === 'POST');
}

interface Input {
  readonly name: string;
  readonly datatype: 'FP32';
  readonly shape: number[];
  readonly data?: unknown[];
  readonly parameters: { binary_data_size: number };
}

function decoded({ headers, body }: ReceivedRequest) {
  const length = Number(headers[BINARY_HEADER]);
  const json = JSON.parse(body.toString('utf8', 0, length)) as { inputs: Input[] };
  const tail = new BinaryTail(body.subarray(length));
  const data = json.inputs.map(({ name, datatype, shape, parameters }) => {
    return decodeRaw(datatype, shape, tail.take(parameters.binary_data_size, name)).data;
  });
  tail.expectEnd();
  return { json, data };
}

const sample = {
  id: 'a',
  inputs: [
    { name: 'image', datatype: 'FP32', shape: [2, 2], data: [1, 2, 3, 4.5], parameters: { hint: 'x' } },
    { name: 'tokens', datatype: 'INT64', shape: [1, 2], data: [[7, 8]] },
  ],
  outputs: [{ name: 'label' }],
};

test('a JSON sample is sent as it is', async () => {
  await using server = await startServer();
  const requests = await requestsOf(server, { protocol: 'open-inference', data: [{ json: sample }] }, 8);
  expect(requests).toHaveLength(8);
  expect(JSON.parse(requests[0]?.body.toString() ?? '')).toEqual(sample);
});

test('a binary sample has its tensors behind the JSON, and all else in it', async () => {
  await using server = await startServer();
  const [request] = await requestsOf(
    server,
    { protocol: 'open-inference-binary', data: [{ json: sample }] },
    1,
  );
  const { json, data } = decoded(request as ReceivedRequest);
  expect(data).toEqual([Float32Array.of(1, 2, 3, 4.5), BigInt64Array.of(7n, 8n)]);
  expect(json).toEqual({
    id: 'a',
    inputs: [
      { name: 'image', datatype: 'FP32', shape: [2, 2], parameters: { hint: 'x', binary_data_size: 16 } },
      { name: 'tokens', datatype: 'INT64', shape: [1, 2], parameters: { binary_data_size: 16 } },
    ],
    outputs: [{ name: 'label' }],
    parameters: { binary_data_output: true },
  });
});

describe('without data', () => {
  test('inputs are random, of the shapes of the model, and the same in every run', async () => {
    await using server = await startServer();
    const first = await requestsOf(server, { protocol: 'open-inference' }, 16);
    const bodies = first.map(({ body }) => body.toString()).sort();
    expect(new Set(bodies).size).toBe(16);
    const { inputs } = JSON.parse(bodies[0] ?? '') as { inputs: Input[] };
    expect(inputs.map(({ name, shape }) => [name, shape])).toEqual([
      ['image', [1, 4]],
      ['tokens', [1, 2]],
      ['text', [1]],
      ['mask', [3]],
    ]);
    expect(inputs.map(({ data }) => data?.length)).toEqual([4, 2, 1, 3]);
    await using other = await startServer();
    const second = await requestsOf(other, { protocol: 'open-inference' }, 16);
    expect(second.map(({ body }) => body.toString()).sort()).toEqual(bodies);
  });

  test('they are sent as binary tensors as well', async () => {
    await using server = await startServer();
    const [request] = await requestsOf(server, { protocol: 'open-inference-binary' }, 1);
    expect(decoded(request as ReceivedRequest).data.map(({ length }) => length)).toEqual([4, 2, 1, 3]);
  });

  test('a model that does not exist is told before the run', async () => {
    await using server = await ScriptedServer.start((_request, response) => {
      response.writeHead(404).end('{"error":"no such model"}');
    });
    await expect(requestsOf(server, { protocol: 'open-inference' }, 1)).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringMatching(/GET \/v2\/models\/digits.*404: \{"error":"no such model"\}/),
    });
  });
});

test.each([
  [{ instances: [1] }, /data: expected an inference request with inputs/],
  [
    { inputs: [{ name: 'a', datatype: 'FLOAT', shape: [1], data: [1] }] },
    /inputs\[0\]\.datatype: expected a datatype such as FP32/,
  ],
  [
    { inputs: [{ name: 'a', datatype: 'FP32', shape: [3], data: [1, 2] }] },
    /inputs\[0\]\.data: expected 3 elements/,
  ],
  [{ inputs: [{ name: 'a', datatype: 'FP32', shape: [1], data: ['x'] }] }, /inputs\[0\]\.data\[0\]/],
])('data that is no inference request is told before the run: %j', async (json, message) => {
  await using server = await startServer();
  await expect(requestsOf(server, { protocol: 'open-inference', data: [{ json }] }, 1)).rejects.toMatchObject(
    {
      code: 'INVALID_OPTION',
      message: expect.stringMatching(message),
    },
  );
});

test('a server that does not say what the model takes is told before the run', async () => {
  await using server = await ScriptedServer.start(() => {});
  const clock = new VirtualClock();
  const url = `http://127.0.0.1:${server.port}/v2/models/digits/infer`;
  const connections = new HttpConnections({ origin: url });
  const samples = openInferenceSamples({ url, protocol: 'open-inference' }, connections, clock);
  const told = expect(samples).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.stringContaining('which failed: no response within 10 s.'),
  });
  await clock.advance(10_000);
  await told;
  await connections.close();
  expect(clock.pendingTimers).toBe(0);
});
