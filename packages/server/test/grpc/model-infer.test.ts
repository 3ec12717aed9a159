import { connect } from 'node:http2';
import type { Datatype, Signature, Tensor } from '@batchwise/runners';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { BatchwiseError } from 'batchwise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { echo, FakeRunner, failing, gated } from './support/fake-runner.js';
import { failureOf, type Message, packages } from './support/inference-client.js';
import { serve, served } from './support/served.js';

const bytes = (text: string) => Buffer.from(text);

/** For each datatype: the field it is typed in, two elements there, and the same as bytes. */
const DATATYPES: readonly (readonly [Datatype, string, readonly unknown[], string])[] = [
  ['BOOL', 'bool_contents', [false, true], '0001'],
  ['UINT8', 'uint_contents', [0, 255], '00ff'],
  ['UINT16', 'uint_contents', [1, 65535], '0100ffff'],
  ['UINT32', 'uint_contents', [1, 4294967295], '01000000ffffffff'],
  ['UINT64', 'uint64_contents', ['1', '18446744073709551615'], '0100000000000000ffffffffffffffff'],
  ['INT8', 'int_contents', [-128, 127], '807f'],
  ['INT16', 'int_contents', [-2, 3], 'feff0300'],
  ['INT32', 'int_contents', [-2147483648, 3], '0000008003000000'],
  ['INT64', 'int64_contents', ['-9223372036854775808', '3'], '00000000000000800300000000000000'],
  ['FP32', 'fp32_contents', [0.5, Number.NaN], '0000003f0000c07f'],
  ['FP64', 'fp64_contents', [0.1, -Infinity], '9a9999999999b93f000000000000f0ff'],
  ['BYTES', 'bytes_contents', [bytes('ab'), bytes('')], '02000000616200000000'],
];

const typed = (datatype: string, field: string, elements: readonly unknown[], name = 'x'): Message => ({
  name,
  datatype,
  shape: [elements.length],
  contents: { [field]: elements },
});

const one = (contents: Message = { fp32_contents: [1] }): Message => ({
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1], contents }],
});

describe('tensors', () => {
  test.each(DATATYPES)(
    'of %s come back typed when they came typed',
    async (datatype, field, elements, hex) => {
      const runner = echo('m');
      const { client } = await served([runner]);
      const { response } = await client.infer({
        model_name: 'm',
        inputs: [typed(datatype, field, elements)],
      });
      expect(response.raw_output_contents).toEqual([]);
      expect(response.outputs).toMatchObject([{ name: 'x', datatype, shape: ['2'] }]);
      expect(response.outputs[0].contents[field]).toEqual(elements);
      const raw = await client.infer({
        model_name: 'm',
        inputs: [{ name: 'x', datatype, shape: [2] }],
        raw_input_contents: [Buffer.from(hex, 'hex')],
      });
      // The runner sees the same, whichever way it came.
      const [fromTyped, fromRaw] = runner.calls.map(({ item }) => item.inputs.get('x') as Tensor);
      expect(plain(fromRaw)).toEqual(plain(fromTyped));
      expect(raw.response.outputs).toMatchObject([{ name: 'x', datatype, shape: ['2'], contents: null }]);
      expect(raw.response.raw_output_contents.map((part: Buffer) => part.toString('hex'))).toEqual([hex]);
    },
  );

  test('of FP16 travel raw, and take the other outputs with them', async () => {
    const half: Tensor = { datatype: 'FP16', shape: [1], data: Uint16Array.of(0x3c00) };
    const runner = new FakeRunner('m', (call) => call.answer(new Map([...call.item.inputs, ['half', half]])));
    const { client } = await served([runner]);
    const { response } = await client.infer(one());
    expect(response.outputs.map(({ name }: Message) => name)).toEqual(['x', 'half']);
    expect(response.raw_output_contents).toEqual([
      Buffer.from('0000803f', 'hex'),
      Buffer.from('003c', 'hex'),
    ]);
    const back = await client.infer({
      model_name: 'm',
      inputs: [{ name: 'x', datatype: 'FP16', shape: [2] }],
      raw_input_contents: [Buffer.from('003c00c0', 'hex')],
    });
    expect(back.response.raw_output_contents[0]).toEqual(Buffer.from('003c00c0', 'hex'));
    const failure = await failureOf(
      client.infer({ model_name: 'm', inputs: [typed('FP16', 'fp32_contents', [1])] }),
    );
    expect(failure.status).toBe('INVALID_ARGUMENT');
    expect(failure.details).toMatch(/inputs\[0\]\.contents: FP16 .*raw_input_contents/);
  });

  test('may be empty, both ways', async () => {
    const runner = echo('m');
    const { client } = await served([runner]);
    for (const datatype of ['FP32', 'BYTES']) {
      const inputs = [{ name: 'x', datatype, shape: [0, 4] }];
      await client.infer({ model_name: 'm', inputs });
      await client.infer({ model_name: 'm', inputs, raw_input_contents: [Buffer.alloc(0)] });
    }
    expect(runner.calls.map(({ item }) => item.inputs.get('x')?.data.length)).toEqual([0, 0, 0, 0]);
  });
});

describe('an answer', () => {
  test('carries the id, the version, and how its batch fared', async () => {
    const { client } = await served([echo('m')]);
    const { response, headers } = await client.infer({ ...one(), id: 'request 7', model_version: '1' });
    expect(response).toMatchObject({ model_name: 'm', model_version: '1', id: 'request 7', parameters: {} });
    expect(headers.get('batchwise-batch-size')).toEqual(['3']);
    expect(headers.get('batchwise-queue-ms')).toEqual(['1.235']);
    expect(headers.get('batchwise-compute-ms')).toEqual(['4.5']);
  });

  test('has the outputs that were asked for, in that order', async () => {
    const runner = echo('m');
    const { client } = await served([runner]);
    const inputs = ['a', 'b', 'c'].map((name) => typed('FP32', 'fp32_contents', [1], name));
    const { response } = await client.infer({
      model_name: 'm',
      inputs,
      outputs: [{ name: 'c' }, { name: 'a' }],
    });
    expect(runner.calls[0]?.item.outputs).toEqual(['c', 'a']);
    expect(response.outputs.map(({ name }: Message) => name)).toEqual(['c', 'a']);
  });

  test('that the runner gives without an output that was asked for is a fault', async () => {
    const faults: unknown[] = [];
    const { client } = await served([echo('m')], { onFault: (error) => faults.push(error) });
    const failure = await failureOf(client.infer({ ...one(), outputs: [{ name: 'y' }] }));
    expect(failure).toMatchObject({
      status: 'INTERNAL',
      details: 'outputs[0].name: the model returned no output "y".',
    });
    expect(faults).toHaveLength(1);
  });
});

const SIGNATURE: Signature = {
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'flag', datatype: 'BOOL', shape: [-1] },
  ],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
};
const X = { name: 'x', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } };
const FLAG = { name: 'flag', datatype: 'BOOL', shape: [1], contents: { bool_contents: [true] } };

describe('a request is refused, and told what was expected where, when', () => {
  const runner = echo('m', SIGNATURE);
  let serving: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    serving = await serve([runner]);
  });
  afterAll(() => serving.close());

  test.each<[string, Message, RegExp]>([
    [
      'there is no input',
      { inputs: [] },
      /^inputs: expected all inputs of the model, got none for "x", "flag"\.$/,
    ],
    [
      'an input is missing',
      { inputs: [X] },
      /^inputs: expected all inputs of the model, got none for "flag"\.$/,
    ],
    [
      'an input is unknown',
      { inputs: [X, { ...FLAG, name: '__proto__' }] },
      /^inputs\[1\]\.name: expected an input of the model \("x", "flag"\), got "__proto__"/,
    ],
    [
      'an input is there twice',
      { inputs: [X, X] },
      /^inputs\[1\]\.name: expected each input once, got "x" again/,
    ],
    [
      'a datatype is unknown',
      { inputs: [{ ...X, datatype: 'constructor' }] },
      /^inputs\[0\]\.datatype: expected "FP32", the datatype of the model, got "constructor"/,
    ],
    [
      'a datatype is another',
      { inputs: [{ ...X, datatype: 'FP64' }] },
      /^inputs\[0\]\.datatype: expected "FP32", the datatype of the model, got "FP64"/,
    ],
    [
      'a shape is another',
      { inputs: [{ ...X, shape: [1, 3] }] },
      /^inputs\[0\]\.shape\[1\]: expected 2, because the model expects \[-1, 2\], got 3/,
    ],
    [
      'a shape has too many dimensions',
      { inputs: [{ ...X, shape: new Array(20).fill(1) }] },
      /^inputs\[0\]\.shape: expected 2 dimensions, because the model expects \[-1, 2\], got 20/,
    ],
    [
      'a length is negative',
      { inputs: [{ ...X, shape: [-1, 2] }] },
      /^inputs\[0\]\.shape\[0\]: expected a whole number from 0 up, got -1/,
    ],
    [
      'a length is beyond counting',
      { inputs: [{ ...X, shape: ['9223372036854775807', 2] }] },
      /^inputs\[0\]\.shape\[0\]: expected a whole number from 0 up, got 9223372036854776000/,
    ],
    [
      'a shape promises too much',
      { inputs: [{ ...X, shape: ['9007199254740991', 2] }] },
      /^inputs\[0\]\.shape: \[9007199254740991, 2\] has more elements than a tensor can have\.$/,
    ],
    [
      'there are too few elements',
      { inputs: [{ ...X, contents: { fp32_contents: [1] } }] },
      /fp32_contents: expected 2 elements for the shape, got 1/,
    ],
    [
      'there is no element',
      { inputs: [{ ...X, contents: null }] },
      /fp32_contents: expected 2 elements for the shape, got 0/,
    ],
    [
      'elements are in another field',
      { inputs: [{ ...X, contents: { fp64_contents: [1, 2] } }] },
      /^inputs\[0\]\.contents: expected FP32 in fp32_contents, got fp64_contents/,
    ],
    [
      'elements are in two fields',
      { inputs: [{ ...X, contents: { fp32_contents: [1, 2], int_contents: [1] } }] },
      /expected FP32 in fp32_contents, got int_contents/,
    ],
    [
      'raw and typed are mixed',
      { inputs: [X, FLAG], raw_input_contents: [Buffer.alloc(8), Buffer.alloc(1)] },
      /^inputs\[0\]\.contents: expected no contents together with raw_input_contents, got both/,
    ],
    [
      'raw contents are too few',
      { inputs: [X, FLAG], raw_input_contents: [Buffer.alloc(8)] },
      /^raw_input_contents: expected one entry for each of 2 inputs, got 1/,
    ],
    [
      'raw contents are too short',
      {
        inputs: [
          { ...X, contents: null },
          { ...FLAG, contents: null },
        ],
        raw_input_contents: [Buffer.alloc(7), Buffer.alloc(1)],
      },
      /^raw_input_contents\[0\]: expected 8 bytes.*got 7/,
    ],
    [
      'an output is unknown',
      { inputs: [X, FLAG], outputs: [{ name: 'z' }] },
      /^outputs\[0\]\.name: expected an output of the model \("y"\), got "z"/,
    ],
    [
      'an output is there twice',
      { inputs: [X, FLAG], outputs: [{ name: 'y' }, { name: 'y' }] },
      /^outputs\[1\]\.name: expected each output once, got "y" again/,
    ],
    [
      'an input is in shared memory',
      { inputs: [{ ...X, parameters: { shared_memory_region: { string_param: 'r' } } }] },
      /^inputs\[0\]\.parameters: "shared_memory_region" is an unsupported extension/,
    ],
    [
      'an output is to be classified',
      { inputs: [X, FLAG], outputs: [{ name: 'y', parameters: { classification: { int64_param: 3 } } }] },
      /^outputs\[0\]\.parameters: "classification"/,
    ],
  ])('%s', async (_, request, details) => {
    const failure = await failureOf(serving.client.infer({ model_name: 'm', ...request }));
    expect(failure.details).toMatch(details);
    expect(failure.status).toBe('INVALID_ARGUMENT');
    expect(runner.calls).toEqual([]);
  });

  test.each([
    ['INT8', 'int_contents', 128],
    ['INT16', 'int_contents', -32769],
    ['UINT8', 'uint_contents', 256],
    ['UINT16', 'uint_contents', 65536],
  ])('an element does not fit into %s', async (datatype, field, element) => {
    const { client } = await served([echo('m')]);
    const failure = await failureOf(
      client.infer({ model_name: 'm', inputs: [typed(datatype, field, [0, element])] }),
    );
    expect(failure.details).toBe(`inputs[0].contents.${field}[1]: expected ${datatype}, got ${element}.`);
  });

  test('its bytes are no message', async () => {
    const { client } = await served([echo('m')]);
    const path = '/inference.GRPCInferenceService/ModelInfer';
    for (const garbage of ['ff', '2a04ffffffff', '3a05ff']) {
      const failure = await failureOf(client.callRaw(path, Buffer.from(garbage, 'hex')));
      expect(failure.status).toBe('INVALID_ARGUMENT');
      expect(failure.details).toMatch(
        /^(message|inputs\[0\]): invalid protobuf message: expected .* at byte \d+\.$/,
      );
    }
  });

  test('the model is unknown, and which there are', async () => {
    const { client } = await served([echo('digits'), echo('iris')]);
    const failure = await failureOf(client.infer({ ...one(), model_name: 'iriss' }));
    expect(failure).toMatchObject({
      status: 'NOT_FOUND',
      details: 'model_name: There is no model "iriss"; this server has "digits", "iris".',
    });
    const version = await failureOf(client.infer({ ...one(), model_name: 'iris', model_version: '2' }));
    expect(version).toMatchObject({
      status: 'NOT_FOUND',
      details: 'model_version: There is no version "2" of the model "iris"; it has "1".',
    });
  });

  test('the model is not ready', async () => {
    const runner = echo('m');
    const { client } = await served([runner]);
    const reasons = { loading: 'the model is loading', failed: 'the model could not be loaded' } as const;
    for (const state of ['loading', 'failed'] as const) {
      runner.state = state;
      expect(await failureOf(client.infer(one()))).toMatchObject({
        status: 'UNAVAILABLE',
        details: `model_name: The model "m" is not ready: ${reasons[state]}.`,
      });
    }
  });
});

describe('an error of the runner', () => {
  test.each([
    ['QUEUE_FULL', 'RESOURCE_EXHAUSTED'],
    ['OVERLOADED', 'RESOURCE_EXHAUSTED'],
    ['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED'],
    ['CANCELLED', 'CANCELLED'],
    ['CLOSED', 'UNAVAILABLE'],
    ['UNAVAILABLE', 'UNAVAILABLE'],
    ['BAD_RESULT', 'INTERNAL'],
    ['HANDLER_TIMEOUT', 'DEADLINE_EXCEEDED'],
    ['INVALID_ITEM', 'INVALID_ARGUMENT'],
  ] as const)('%s is %s', async (code, expected) => {
    const { client } = await served([failing('m', new BatchwiseError(code, 'what happened: “ü” \n%'))]);
    const failure = await failureOf(client.infer(one()));
    expect(failure).toMatchObject({ status: expected, details: 'what happened: “ü” \n%' });
    expect(failure.metadata.get('grpc-retry-pushback-ms')).toEqual([]);
  });

  test('that says when to come back says so to clients', async () => {
    const error = new BatchwiseError('OVERLOADED', 'too much', { retryAfterMs: 12.3 });
    const { client } = await served([failing('m', error)]);
    const failure = await failureOf(client.infer(one()));
    expect(failure.status).toBe('RESOURCE_EXHAUSTED');
    expect(failure.metadata.get('retry-after-ms')).toEqual(['13']);
    expect(failure.metadata.get('grpc-retry-pushback-ms')).toEqual(['13']);
  });

  test.each([
    ['thrown by user code', new BatchwiseError('HANDLER_FAILED', 'password is hunter2')],
    ['of no table', new TypeError('password is hunter2')],
  ])('%s is told to the server, not to the client', async (_, error) => {
    const faults: unknown[] = [];
    const { client } = await served([failing('m', error)], { onFault: (fault) => faults.push(fault) });
    const failure = await failureOf(client.infer(one()));
    expect(failure).toMatchObject({ status: 'INTERNAL', details: 'The log of the server has the cause.' });
    expect(faults).toEqual([error]);
  });

  test('is sent, however long it is and whatever it is made of', async () => {
    const error = new BatchwiseError('BAD_RESULT', `\ud800${'ü'.repeat(100_000)}`);
    const { client } = await served([failing('m', error)]);
    const failure = await failureOf(client.infer(one()));
    expect(failure.status).toBe('INTERNAL');
    expect(failure.details).toMatch(/^\ufffdü{700,}…$/);
  });

  test('thrown when it is asked is answered all the same', async () => {
    const runner = new FakeRunner('m', () => {
      throw new BatchwiseError('INVALID_OPTION', 'not like that');
    });
    const { client } = await served([runner]);
    expect(await failureOf(client.infer(one()))).toMatchObject({ status: 'INVALID_ARGUMENT' });
  });
});

describe('what a call says beside its message', () => {
  let serving: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    serving = await serve([echo('m')], TRUST);
  });
  afterAll(() => serving.close());

  const TRUST = { trustedHeaders: ['priority', 'tenant'] } as const;

  test('reaches the runner where it is trusted: priority and tenant', async () => {
    const runner = echo('m');
    const { client } = await served([runner], TRUST);
    await client.infer(one(), { metadata: { 'batchwise-priority': '-5', 'batchwise-tenant': 'acme' } });
    await client.infer(one());
    expect(runner.calls[0]?.options).toEqual({ timeoutMs: 300_000, priority: -5, tenant: 'acme' });
    expect(runner.calls[1]?.options).toEqual({
      timeoutMs: 300_000,
      priority: undefined,
      tenant: undefined,
    });
  });

  test.each([
    { 'batchwise-priority': '100', 'batchwise-tenant': 'acme' },
    { 'batchwise-priority': 'high', 'batchwise-tenant': '' },
    { 'batchwise-priority': ['1', '2'] },
  ])('is ignored unless it is trusted: %j', async (metadata) => {
    const runner = echo('m');
    const { client } = await served([runner]);
    await client.infer(one(), { metadata });
    await client.infer({ ...one(), parameters: { priority: { int64_param: 1 } } });
    const nothing = { timeoutMs: 300_000, priority: undefined, tenant: undefined };
    expect(runner.calls.map(({ options }) => options)).toEqual([nothing, nothing]);
  });

  test.each<[string, string | string[], RegExp]>([
    [
      'batchwise-priority',
      'high',
      /^batchwise-priority: expected a whole number from -100 to 100, got "high"/,
    ],
    ['batchwise-priority', '101', /got "101"/],
    ['batchwise-priority', '1.5', /got "1.5"/],
    ['batchwise-priority', '', /got ""/],
    ['batchwise-priority', '1e1', /got "1e1"/],
    ['batchwise-priority', ['1', '2'], /batchwise-priority: expected/],
    ['batchwise-tenant', '', /^batchwise-tenant: expected 1 to 128 visible ASCII characters, got ""/],
    [
      'batchwise-tenant',
      'a'.repeat(129),
      /^batchwise-tenant: expected 1 to 128 visible ASCII characters, got "a{60}…"/,
    ],
  ])('is checked: %s %s', async (key, value, details) => {
    const failure = await failureOf(serving.client.infer(one(), { metadata: { [key]: value } }));
    expect(failure.status).toBe('INVALID_ARGUMENT');
    expect(failure.details).toMatch(details);
  });

  test('reaches the runner: its deadline, as the time that is left', async () => {
    const runner = echo('m');
    const { client } = await served([runner]);
    await client.infer(one(), { deadline: Date.now() + 600_000 });
    const timeoutMs = runner.calls[0]?.options.timeoutMs as number;
    expect(timeoutMs).toBeGreaterThan(0);
    expect(timeoutMs).toBeLessThanOrEqual(600_000);
  });

  test('a deadline that passes ends the call, and takes it from the runner', async () => {
    const runner = gated('m');
    const { client } = await served([runner]);
    const call = failureOf(client.infer(one(), { deadline: Date.now() + 30 }));
    expect((await call).status).toBe('DEADLINE_EXCEEDED');
    // Under load it may have passed before the runner was asked.
    await runner.until(() => runner.calls.every(({ isCancelled }) => isCancelled));
  });
});

describe('a client that gives up', () => {
  test('cancels what it asked for', async () => {
    const runner = gated('m');
    const { client } = await served([runner]);
    const controller = new AbortController();
    const failure = failureOf(client.infer(one(), { signal: controller.signal }));
    await runner.until(() => runner.calls.length === 1);
    controller.abort();
    expect((await failure).status).toBe('CANCELLED');
    await runner.until(() => runner.calls[0]?.isCancelled === true);
  });

  test('by hanging up cancels what it asked for, and nothing of the others', async () => {
    const runner = gated('m');
    const { client, port } = await served([runner]);
    const { serialize } = packages['inference.ModelInferRequest'] as MessageTypeDefinition<Message, object>;
    const message = serialize({ ...one(), id: 'mine' });
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(message.length, 1);
    const session = connect(`http://127.0.0.1:${port}`);
    const request = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    request.on('error', () => {});
    request.end(Buffer.concat([prefix, message]));
    await runner.until(() => runner.calls.length === 1);
    const theirs = client.infer(one());
    await runner.until(() => runner.calls.length === 2);
    session.destroy();
    await runner.until(() => runner.calls[0]?.isCancelled === true);
    expect(runner.calls[1]?.isCancelled).toBe(false);
    runner.calls[1]?.answer();
    await theirs;
  });
});

function plain(tensor: Tensor | undefined) {
  const data = Array.from((tensor?.data ?? []) as ArrayLike<unknown>, (element) =>
    element instanceof Uint8Array ? Buffer.from(element).toString() : element,
  );
  return { ...tensor, data };
}
