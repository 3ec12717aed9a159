/** ModelInfer messages byte by byte, of the kinds that no client library writes. */

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}

/** A field with a length. */
export function field(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** `unit` again and again, as often as it fits into so many bytes. */
export function repeated(unit: readonly number[], bytes: number): Buffer {
  return Buffer.alloc(bytes - (bytes % unit.length), Buffer.from(unit));
}

export function shapeField(shape: readonly number[]): Buffer {
  return field(3, Buffer.concat(shape.map(varint)));
}

/** An input of a request, with `rest` behind what every input has. */
export function inputField(
  name: string,
  datatype: string,
  shape: readonly number[],
  rest: Uint8Array,
): Buffer {
  return field(5, Buffer.concat([field(1, name), field(2, datatype), shapeField(shape), rest]));
}

export function message(model: string, ...rest: readonly Uint8Array[]): Buffer {
  return Buffer.concat([field(1, model), ...rest]);
}
