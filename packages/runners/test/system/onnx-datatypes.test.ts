/** Every datatype through a real session and back. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createModelRunner,
  DATATYPES,
  type Datatype,
  newData,
  OnnxModel,
  predictor,
  setElement,
  type Tensor,
  type TensorSpec,
} from '../../src/index.js';
import { identityModel } from '../support/onnx-file.js';
import { settingsWith } from '../support/settings.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'batchwise-datatypes-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function identity(inputs: readonly TensorSpec[], settings = settingsWith({ warmup: 1 })) {
  const file = join(folder, 'identity.onnx');
  await writeFile(file, identityModel(inputs));
  const runner = createModelRunner({ name: 'identity', model: new OnnxModel({ file }), settings });
  await runner.ready;
  return runner;
}

const VALUES: Readonly<Partial<Record<Datatype, readonly unknown[]>>> = {
  BOOL: [true, false, true],
  BYTES: ['', 'grüße', 'a\u{1F600}b'],
  INT64: [-1, 0, 2n ** 62n],
  UINT64: [0, 1, 2n ** 63n],
  FP16: [0.5, -65504, 2 ** -24],
};

describe.each(DATATYPES)('%s', (datatype) => {
  const values = VALUES[datatype] ?? [1, 2, 100];

  test('values are returned unchanged, alone and in a batch', async () => {
    const runner = await identity([{ name: 'x', datatype, shape: [-1, 3] }]);
    try {
      expect(runner.signature?.inputs).toEqual([{ name: 'x', datatype, shape: [-1, 3] }]);
      const rows = predictor(runner);
      expect(await rows.predict(values)).toEqual(values);
      const reversed = values.toReversed();
      expect(await Promise.all([rows.predict(values), rows.predict(reversed)])).toEqual([values, reversed]);
    } finally {
      await runner.close();
    }
  });

  test('tensors are returned unchanged, in the same array type', async () => {
    const runner = await identity([{ name: 'x', datatype, shape: [-1, 3] }]);
    try {
      const data = newData(datatype, 3);
      for (const [i, value] of values.entries()) setElement(datatype, data, i, value);
      const tensor: Tensor = { datatype, shape: [1, 3], data };
      const outputs = await predictor(runner).infer(new Map([['x', tensor]]));
      expect(outputs.get('x_out')).toEqual(tensor);
    } finally {
      await runner.close();
    }
  });
});

test('several inputs, one named like a property of Object, and only the requested outputs', async () => {
  const runner = await identity([
    { name: '__proto__', datatype: 'FP32', shape: [-1] },
    { name: 'id', datatype: 'INT64', shape: [-1] },
  ]);
  try {
    const inputs = new Map<string, Tensor>([
      ['__proto__', { datatype: 'FP32', shape: [1], data: Float32Array.of(5) }],
      ['id', { datatype: 'INT64', shape: [1], data: BigInt64Array.of(6n) }],
    ]);
    const outputs = await predictor(runner).infer(inputs, { outputs: ['id_out'] });
    expect([...outputs.keys()]).toEqual(['id_out']);
    const all = await predictor(runner).infer(inputs);
    expect(all.get('__proto___out')?.data).toEqual(Float32Array.of(5));
  } finally {
    await runner.close();
  }
});

test('text that is not UTF-8 is rejected, and the other requests succeed', async () => {
  const runner = await identity([{ name: 'x', datatype: 'BYTES', shape: [-1] }]);
  try {
    const ask = (bytes: readonly number[]) =>
      predictor(runner).infer(
        new Map([['x', { datatype: 'BYTES', shape: [1], data: [Uint8Array.from(bytes)] } as Tensor]]),
      );
    const [good, bad] = await Promise.allSettled([ask([97]), ask([0xff])]);
    expect(good.status).toBe('fulfilled');
    expect(bad).toMatchObject({ reason: { code: 'INVALID_ITEM', message: /"x".*UTF-8/ } });
  } finally {
    await runner.close();
  }
});

test('a model with a fixed batch dimension is served row by row', async () => {
  const runner = await identity([{ name: 'x', datatype: 'FP32', shape: [1, 2] }]);
  try {
    const rows = [
      [1, 2],
      [3, 4],
      [5, 6],
    ];
    expect(await predictor(runner).predictMany(rows)).toEqual(rows);
    expect(runner.stats()).toMatchObject({ batches: 3, batchedItems: 3 });
  } finally {
    await runner.close();
  }
});

test('rows of different lengths are served concurrently', async () => {
  const runner = await identity([{ name: 'x', datatype: 'FP32', shape: [-1, -1] }]);
  try {
    const rows = [[1], [1, 2], [3, 4], [1, 2, 3], [5]];
    expect(await Promise.all(rows.map((row) => predictor(runner).predict(row)))).toEqual(rows);
    expect(runner.stats()?.batches).toBe(3);
  } finally {
    await runner.close();
  }
});

test('16-bit floats are returned unchanged on a Node with Float16Array', async () => {
  const file = join(folder, 'half.onnx');
  await writeFile(file, identityModel([{ name: 'x', datatype: 'FP16', shape: [-1, 3] }]));
  const thread = new URL('./threads/float16-thread.mjs', import.meta.url);
  const model = new OnnxModel({ file, thread });
  const runner = createModelRunner({ name: 'half', model, settings: settingsWith({ warmup: 1 }) });
  try {
    await runner.ready;
    const values = [0.5, -65504, 2 ** -24];
    expect(await predictor(runner).predict(values)).toEqual(values);
  } finally {
    await runner.close();
  }
});
