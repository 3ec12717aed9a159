/** A second implementation of gRPC framing, so that the tests do not depend on the tested code. */

export function framed(message: Uint8Array | string, flag = 0): Buffer {
  const body = Buffer.from(message);
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}

/** Splits bytes into messages; throws if bytes are left over. */
export function unframed(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  let rest = bytes;
  while (rest.length > 0) {
    if (rest.length < 5) throw new Error(`expected five bytes of prefix, got ${rest.length}`);
    const length = rest.readUInt32BE(1);
    if (rest.length < 5 + length)
      throw new Error(`expected ${length} bytes of message, got ${rest.length - 5}`);
    messages.push(rest.subarray(5, 5 + length));
    rest = rest.subarray(5 + length);
  }
  return messages;
}
