/** A unary method of a gRPC server. */
import {
  type CallEnd,
  type ClientTls,
  frameOf,
  GrpcChannel,
  PREFIX_BYTES,
  STATUS,
  statusName,
} from '@batchwise/grpc';
import type protobuf from 'protobufjs';
import { LoadError } from '../load-error.js';
import { BatchFigures } from './batch-headers.js';
import { shortReason } from './error-outcome.js';
import { GrpcReflection } from './grpc-reflection.js';
import { type MethodName, requestTypeOfProto, requestTypeOfServer } from './grpc-schema.js';
import { certificates, unreachableText } from './http-connector.js';
import { InFlight } from './in-flight.js';
import { messageFromJson } from './protobuf-json.js';
import type { Outcome, Target } from './target.js';
import type { TargetSpec } from './target-spec.js';
import { expiredReason } from './time-limit.js';

/** A further connection is opened when the streams that the server allows on the others are all in use. */
const MOST_CONNECTIONS = 1024;
/** Responses above it fail. More than servers send by default, because it is the server that is tested. */
const MOST_RESPONSE_BYTES = 64 * 2 ** 20;

export class GrpcTarget implements Target {
  readonly name: string;
  readonly #spec: TargetSpec;
  readonly #url: URL;
  readonly #channel: GrpcChannel;
  readonly #metadata: Readonly<Record<string, string>>;
  readonly #inFlight = new InFlight();
  #frames: readonly Buffer[] = [];

  constructor(spec: TargetSpec) {
    this.#spec = spec;
    this.#url = new URL(spec.url);
    this.name = this.#url.pathname.slice(1);
    const { headers = {} } = spec;
    this.#metadata = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    this.#channel = new GrpcChannel({
      target: this.#url.host,
      tls: this.#url.protocol === 'grpcs:' ? tlsOf(spec) : undefined,
      connections: MOST_CONNECTIONS,
    });
  }

  get connections(): number {
    return this.#channel.openConnections;
  }

  async prepare(): Promise<void> {
    await this.#connect();
    const { data = [], proto } = this.#spec;
    const [, service = '', method = ''] = this.#url.pathname.split('/');
    const name = { service, method };
    const type = proto === undefined ? await this.#askServer(name) : await requestTypeOfProto(proto, name);
    const messages = data.map((sample, index) => {
      if ('base64' in sample) return Buffer.from(sample.base64, 'base64');
      if (type === undefined) {
        throw new LoadError(
          'INVALID_OPTION',
          'The server has no reflection: expected the .proto file of the method with JSON data, or data in bytes.',
        );
      }
      return messageFromJson(type, sample.json, data.length === 1 ? 'data' : `data[${index}]`);
    });
    this.#frames = (messages.length === 0 ? [new Uint8Array()] : messages).map((message) => frameOf(message));
  }

  send(number: number, done: (outcome: Outcome) => void): void {
    const frame = this.#frames[number % this.#frames.length];
    if (frame === undefined) throw new Error('A target is prepared before the first request is sent.');
    const end = this.#inFlight.begin(done);
    let responseBytes = 0;
    let figures: BatchFigures | undefined;
    const { timeoutMs } = this.#spec;
    const options = { metadata: this.#metadata, timeoutMs, maxMessageBytes: MOST_RESPONSE_BYTES };
    const call = this.#channel.call(this.#url.pathname, options, {
      onHeaders: (headers) => {
        figures = BatchFigures.ofRecord(headers);
      },
      onFrame: (received) => {
        responseBytes += received.length - PREFIX_BYTES;
      },
      onEnd: (ended) => {
        if (ended.status !== STATUS.OK) end(this.#unsuccessful(ended, responseBytes));
        else end({ kind: 'ok', responseBytes, ...(figures ?? BatchFigures.ofRecord(ended.trailers)) });
      },
    });
    call.end(frame);
  }

  async close(): Promise<void> {
    this.#inFlight.stop();
    this.#channel.destroy();
    await this.#channel.close();
  }

  #unsuccessful({ status, message }: CallEnd, responseBytes: number): Outcome {
    const { timeoutMs } = this.#spec;
    // Whether the server or this side is first to notice is chance: one reason for both.
    if (status === STATUS.DEADLINE_EXCEEDED && timeoutMs !== undefined) {
      return { kind: 'failed', reason: expiredReason(timeoutMs), responseBytes };
    }
    const reason = shortReason(message === '' ? statusName(status) : `${statusName(status)}: ${message}`);
    return { kind: status === STATUS.RESOURCE_EXHAUSTED ? 'rejected' : 'failed', reason, responseBytes };
  }

  /** The type of the request message; undefined where the server has no reflection. */
  async #askServer(name: MethodName): Promise<protobuf.Type | undefined> {
    const isNeeded = this.#spec.data?.some((sample) => 'json' in sample) ?? false;
    let reflection: GrpcReflection | undefined;
    try {
      reflection = await GrpcReflection.of(this.#channel, this.#metadata);
    } catch (error) {
      // Bytes can be sent to a server whose reflection is broken or not for everyone.
      if (isNeeded) throw error;
    }
    return reflection === undefined ? undefined : requestTypeOfServer(reflection, name);
  }

  async #connect(): Promise<void> {
    const channel = this.#channel;
    await new Promise<void>((resolve, reject) => {
      const stop = channel.onStateChange((state) => {
        if (state !== 'ready' && state !== 'failing') return;
        stop();
        if (state === 'ready') resolve();
        else reject(this.#unreachable(channel.lastError ?? new Error('unknown')));
      });
      channel.connect();
    });
  }

  #unreachable(error: Error): LoadError {
    const root = error.cause instanceof Error ? error.cause : error;
    return new LoadError('UNREACHABLE', unreachableText(this.#url.host, this.#url.hostname, root), {
      cause: error,
    });
  }
}

function tlsOf({ tls }: TargetSpec): ClientTls | true {
  return tls?.ca === undefined ? true : { ca: certificates(tls.ca) };
}
