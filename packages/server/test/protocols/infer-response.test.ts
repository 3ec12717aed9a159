import type { Tensor } from '@batchwise/runners';
import { expect, test } from 'vitest';
import { formatInferResponse } from '../../src/protocols/infer-response.js';
import { RequestError } from '../../src/request-error.js';

function format(tensor: Tensor, binary = false) {
  return formatInferResponse(
    { model: 'm', id: undefined, outputs: [{ name: 'y', binary }] },
    new Map([['y', tensor]]),
  );
}

const floats = (...values: number[]): Tensor => ({
  datatype: 'FP32',
  shape: [values.length],
  data: Float32Array.from(values),
});

test('the answer names the model, its version, the id and each output', () => {
  const answer = formatInferResponse(
    { model: 'a "b"', id: 'é', outputs: [{ name: 'y', binary: false }] },
    new Map([['y', floats(1, 2.5)]]),
  );
  expect(answer.headers).toEqual({ 'content-type': 'application/json' });
  expect(answer.body).toBe(
    '{"model_name":"a \\"b\\"","model_version":"1","id":"é","outputs":[{"name":"y","shape":[2],"datatype":"FP32","data":[1,2.5]}]}',
  );
});

test('binary outputs follow the JSON, whose length a header tells', () => {
  const answer = formatInferResponse(
    {
      model: 'é',
      id: undefined,
      outputs: [
        { name: 'b', binary: true },
        { name: 'a', binary: false },
        { name: 'c', binary: true },
      ],
    },
    new Map<string, Tensor>([
      ['a', floats(1)],
      ['b', { datatype: 'INT16', shape: [2], data: Int16Array.of(1, -1) }],
      ['c', { datatype: 'BYTES', shape: [1], data: [Buffer.from('hé')] }],
    ]),
  );
  const body = answer.body as Buffer;
  const length = Number(answer.headers['inference-header-content-length']);
  expect(answer.headers['content-type']).toBe('application/octet-stream');
  expect(JSON.parse(body.subarray(0, length).toString()).outputs).toEqual([
    { name: 'b', shape: [2], datatype: 'INT16', parameters: { binary_data_size: 4 } },
    { name: 'a', shape: [1], datatype: 'FP32', data: [1] },
    { name: 'c', shape: [1], datatype: 'BYTES', parameters: { binary_data_size: 7 } },
  ]);
  expect(body.subarray(length).toString('hex')).toBe('0100ffff' + '03000000' + '68c3a9');
});

test('only the view is sent, not the memory around it', () => {
  const all = Float32Array.of(9, 1, 2, 9);
  const answer = format({ datatype: 'FP32', shape: [2], data: all.subarray(1, 3) }, true);
  const body = answer.body as Buffer;
  expect(body.subarray(Number(answer.headers['inference-header-content-length']))).toEqual(
    Buffer.from(Float32Array.of(1, 2).buffer),
  );
});

test('what JSON cannot carry becomes null, and the answer says how often', () => {
  const { outputs } = JSON.parse(String(format(floats(1, Number.NaN, Number.POSITIVE_INFINITY, -0)).body));
  expect(outputs[0]).toEqual({
    name: 'y',
    shape: [4],
    datatype: 'FP32',
    parameters: { non_finite: 2 },
    data: [1, null, null, 0],
  });
  const halves: Tensor = { datatype: 'FP16', shape: [2], data: Uint16Array.of(0x7c00, 0x3c00) };
  expect(JSON.parse(String(format(halves).body)).outputs[0]).toMatchObject({
    parameters: { non_finite: 1 },
    data: [null, 1],
  });
});

test('floats take no more digits than they need', () => {
  expect(format(floats(0.1, 1 / 3, 16777216, 1e-7, 3.4e38, 0)).body).toContain(
    '"data":[0.1,0.33333334,16777216,1e-7,3.3999999521443642e+38,0]',
  );
});

test('64-bit integers keep their digits', () => {
  const tensor: Tensor = { datatype: 'INT64', shape: [2], data: BigInt64Array.of(9007199254740993n, -1n) };
  expect(format(tensor).body).toContain('"data":[9007199254740993,-1]');
});

test('booleans are true and false; bytes are text, or Base64 where they are none', () => {
  expect(format({ datatype: 'BOOL', shape: [2], data: Uint8Array.of(0, 1) }).body).toContain(
    '"data":[false,true]',
  );
  expect(
    format({ datatype: 'BYTES', shape: [2], data: [Buffer.from('"é'), Uint8Array.of(0xff)] }).body,
  ).toContain('"data":["\\"é",{"b64":"/w=="}]');
});

test('an output that the model did not give is the fault of the server', () => {
  expect(() =>
    formatInferResponse({ model: 'm', id: undefined, outputs: [{ name: 'z', binary: false }] }, new Map()),
  ).toThrow(new RequestError('INTERNAL', 'The model returned no output "z".'));
});
