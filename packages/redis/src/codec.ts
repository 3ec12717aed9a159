/**
 * How items and results travel. Text (JSON) is read as strings, which is quickest; bytes (MessagePack, or just as they
 * are) as Buffers. Answers of one batch to one client travel as one payload.
 */
import { BatchwiseError } from 'batchwise';
import { addExtension, Packr } from 'msgpackr';
import type { Argument } from './connection/link.js';
import { type ErrorData, errorFromData } from './error-data.js';
import { type Carrier, checkPlainData } from './plain-data.js';

export type PayloadKind = 'json' | 'msgpack' | 'bytes';

/** A result (undefined has no payload), or an error, of the client's item with this number. */
export interface Answer {
  readonly number: number;
  readonly payload: Argument | undefined;
  readonly error: ErrorData | undefined;
}

export interface Codec {
  readonly kind: PayloadKind;
  readonly isText: boolean;
  encode(value: unknown): Argument;
  decode(payload: Argument): unknown;
  /** All answers for one client, in one payload; without those that have no number, which no client of ours has asked for. */
  packAnswers(answers: readonly Answer[]): Argument;
  /**
   * Calls back for each. A result that cannot be read is an error of its item. What was written by nobody of ours is
   * passed over: it answers nothing, and must not end the wait for what does.
   */
  unpackAnswers(packed: Argument, each: (number: number, result: unknown) => void): void;
}

/** Records would have to be known on the other side. What is decoded shares no memory with what was received. */
const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  moreTypes: true, // without it typed arrays are written as bytes, and the rest is what was in that memory before
  variableMapSize: true,
  useToJSON: false,
  structuredClone: false,
  copyBuffers: true,
});
/** For what is decoded once more. */
const envelope = new Packr({ useRecords: false, mapsAsObjects: true, structuredClone: false });

const json: Codec = {
  kind: 'json',
  isText: true,
  encode(value) {
    const { hasNegativeZero } = checkPlainData(value, JSON_CARRIES);
    return hasNegativeZero ? textOf(value) : JSON.stringify(value);
  },
  decode: (payload) => JSON.parse(payload as string),
  packAnswers(answers) {
    const parts = answers
      .filter(hasNumber)
      .map(({ number, payload, error }) =>
        error !== undefined
          ? `[${number},0,${JSON.stringify(error)}]`
          : payload === undefined
            ? `[${number}]`
            : `[${number},${payload}]`,
      );
    return `[${parts.join(',')}]`;
  },
  unpackAnswers(packed, each) {
    for (const [number, result, error] of answersIn(() => JSON.parse(packed as string))) {
      each(number, error === undefined ? result : errorFromData(error));
    }
  },
};

function binary(
  kind: PayloadKind,
  encode: (value: unknown) => Buffer,
  decode: (bytes: Buffer) => unknown,
): Codec {
  return {
    kind,
    isText: false,
    encode,
    decode: (payload) => decode(payload as Buffer),
    packAnswers: (answers) =>
      envelope.pack(
        answers
          .filter(hasNumber)
          .map(({ number, payload, error }) =>
            error !== undefined
              ? [number, null, error]
              : payload === undefined
                ? [number]
                : [number, payload],
          ),
      ),
    unpackAnswers(packed, each) {
      for (const [number, payload, error] of answersIn(() => envelope.unpack(packed as Buffer))) {
        each(
          number,
          error === undefined ? read(payload as Buffer | undefined, decode) : errorFromData(error),
        );
      }
    },
  };
}

/** An entry of the queue that is not of our making has any number, or none. */
function hasNumber({ number }: { readonly number: unknown }): boolean {
  return Number.isSafeInteger(number);
}

type PackedAnswer = readonly [number: number, result?: unknown, error?: ErrorData];

function answersIn(parse: () => unknown): PackedAnswer[] {
  let parsed: unknown;
  try {
    parsed = parse();
  } catch {
    return [];
  }
  return Array.isArray(parsed) ? parsed.filter(isAnswer) : [];
}

function isAnswer(value: unknown): value is PackedAnswer {
  if (!Array.isArray(value) || !hasNumber({ number: value[0] })) return false;
  return value[2] === undefined || (typeof value[2] === 'object' && value[2] !== null);
}

function read(payload: Buffer | undefined, decode: (bytes: Buffer) => unknown): unknown {
  if (payload === undefined) return undefined;
  try {
    return decode(payload);
  } catch (cause) {
    return new BatchwiseError('BAD_RESULT', 'the result cannot be read', { cause });
  }
}

const JSON_CARRIES: Carrier = {
  range: 'JSON supports null, booleans, finite numbers, strings, and plain arrays and objects of these',
  hasUndefined: false,
  hasAllNumbers: false,
  hasLoneSurrogates: true,
  reservedKeys: [],
  isCarried: () => false,
};

const CARRIED_PROTOTYPES: ReadonlySet<object> = new Set(
  [
    ...[Date, Set, ArrayBuffer, DataView, Buffer, Int8Array, Uint8Array, Uint8ClampedArray, Int16Array],
    ...[Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ].map(({ prototype }): object => prototype),
);

const MSGPACK_CARRIES: Carrier = {
  range:
    'MessagePack supports null, undefined, booleans, numbers, BigInts, well-formed strings, dates, Buffers, typed ' +
    'arrays, and Sets, plain arrays and objects of these',
  hasUndefined: true,
  hasAllNumbers: true,
  hasLoneSurrogates: false,
  reservedKeys: ['__proto__'], // msgpackr reads it under another name
  isCarried: (prototype) => CARRIED_PROTOTYPES.has(prototype),
};

/** JSON.stringify writes -0 as 0; JSON itself, and JSON.parse, have it. */
function textOf(value: unknown): string {
  if (Object.is(value, -0)) return '-0';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${textOf(member)}`).join(',')}}`;
}

/** msgpackr writes -0 as the integer 0, and these as the floating-point number. */
class NegativeZero {}
const NEGATIVE_ZERO = new NegativeZero();
const FLOAT64_NEGATIVE_ZERO = [0xcb, 0x80, 0, 0, 0, 0, 0, 0, 0] as const;
addExtension({
  Class: NegativeZero,
  type: 0xfe, // never written, and reserved by MessagePack: nobody else has it
  pack(_: NegativeZero, allocate?: (size: number) => { target: Uint8Array; position: number }) {
    const { target, position } = (allocate as NonNullable<typeof allocate>)(FLOAT64_NEGATIVE_ZERO.length);
    target.set(FLOAT64_NEGATIVE_ZERO, position);
    return undefined as unknown as Buffer;
  },
});

function withMarkedZeros(value: unknown): unknown {
  if (Object.is(value, -0)) return NEGATIVE_ZERO;
  if (Array.isArray(value)) return value.map(withMarkedZeros);
  if (value instanceof Set) return new Set([...value].map(withMarkedZeros));
  if (typeof value !== 'object' || value === null || CARRIED_PROTOTYPES.has(Object.getPrototypeOf(value)))
    return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withMarkedZeros(member)]));
}

const codecs: Readonly<Record<PayloadKind, Codec>> = {
  json,
  msgpack: binary(
    'msgpack',
    (value) => {
      const { hasNegativeZero } = checkPlainData(value, MSGPACK_CARRIES);
      return packr.pack(hasNegativeZero ? withMarkedZeros(value) : value);
    },
    (bytes) => packr.unpack(bytes),
  ),
  bytes: binary('bytes', validBytes, ownBytes),
};

export function codecFor(kind: PayloadKind = 'json'): Codec {
  if (Object.hasOwn(codecs, kind)) return codecs[kind];
  const expected = Object.keys(codecs).map((name) => `'${name}'`);
  throw new BatchwiseError(
    'INVALID_OPTION',
    `payload: expected ${expected.join(' or ')}, got ${JSON.stringify(kind)}.`,
  );
}

/** Clients say how they read in their ids. What is no client of ours reads nothing. */
export function codecOf(clientId: string): Codec {
  const kind = clientId.slice(0, clientId.indexOf('-'));
  return Object.hasOwn(codecs, kind) ? codecs[kind as PayloadKind] : json;
}

/** A copy with memory of its own: small Buffers otherwise share theirs with others. */
function ownBytes(bytes: Buffer): Buffer {
  return Uint8Array.prototype.slice.call(bytes) as Buffer;
}

function validBytes(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`expected a Uint8Array, got ${value === null ? 'null' : typeof value}`);
}
