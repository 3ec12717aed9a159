import fc from 'fast-check';
import {
  DATATYPES,
  type Datatype,
  elementCount,
  newData,
  type Tensor,
  type Tensors,
} from '../../src/index.js';

/** Any bit pattern: NaN with a payload, negative zero, integers beyond the range of doubles. */
function arbitraryTensor(datatypes: readonly Datatype[]): fc.Arbitrary<Tensor> {
  return fc
    .tuple(fc.constantFrom(...datatypes), fc.array(fc.nat(4), { maxLength: 4 }))
    .chain(([datatype, shape]): fc.Arbitrary<Tensor> => {
      const count = elementCount(shape);
      if (datatype === 'BYTES') {
        const element = fc.uint8Array({ maxLength: 6 });
        return fc
          .array(element, { minLength: count, maxLength: count })
          .map((data) => ({ datatype, shape, data }));
      }
      const data = newData(datatype, count) as Float32Array;
      const length = { minLength: data.byteLength, maxLength: data.byteLength };
      return fc.uint8Array(length).map((bytes) => {
        const filled = newData(datatype, count) as Float32Array;
        const target = new Uint8Array(filled.buffer);
        target.set(datatype === 'BOOL' ? bytes.map((byte) => byte & 1) : bytes);
        return { datatype, shape, data: filled };
      });
    });
}

export function arbitraryTensors(datatypes: readonly Datatype[] = DATATYPES): fc.Arbitrary<Tensors> {
  const entry = fc.tuple(fc.string({ maxLength: 8 }), arbitraryTensor(datatypes));
  return fc
    .uniqueArray(entry, { selector: ([name]) => name, minLength: 1, maxLength: 4 })
    .map((entries) => new Map(entries));
}

/** Compared as bytes, because NaN is not equal to itself. */
export function comparable(tensors: Tensors): unknown {
  return Array.from(tensors, ([name, { datatype, shape, data }]) => {
    const elements = ArrayBuffer.isView(data)
      ? Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('hex')
      : data.map((element) => Buffer.from(element).toString('hex'));
    return [name, datatype, [...shape], elements];
  });
}
