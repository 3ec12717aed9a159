/**
 * How items and results travel. Text (JSON) is read as strings, which is quickest; bytes (MessagePack, or just as they
 * are) as Buffers. Answers of one batch to one client travel as one payload.
 */
import { BatchwiseError } from 'batchwise';
import { Packr } from 'msgpackr';
import type { Argument } from './connection/link.js';
import { type ErrorData, errorFromData } from './error-data.js';

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

/** Records would have to be known on the other side. */
const packr = new Packr({ useRecords: false, mapsAsObjects: true });

const json: Codec = {
  kind: 'json',
  isText: true,
  encode(value) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`JSON has nothing for ${typeof value}`);
    return text;
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
      packr.pack(
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
      for (const [number, payload, error] of answersIn(() => packr.unpack(packed as Buffer))) {
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

const codecs: Readonly<Record<PayloadKind, Codec>> = {
  json,
  msgpack: binary(
    'msgpack',
    (value) => packr.pack(value),
    (bytes) => packr.unpack(bytes),
  ),
  bytes: binary('bytes', validBytes, (bytes) => bytes),
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

function validBytes(value: unknown): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`expected a Uint8Array, got ${value === null ? 'null' : typeof value}`);
}
