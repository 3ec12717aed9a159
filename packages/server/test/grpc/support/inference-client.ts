/** A real client on a real port, with the fields named as the protocol names them. */
import { fileURLToPath } from 'node:url';
import {
  Client,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';

const protoFile = (name: string) => fileURLToPath(new URL(`../../../proto/${name}`, import.meta.url));

export const packages: PackageDefinition = loadSync(
  [protoFile('inference.proto'), protoFile('health.proto')],
  { keepCase: true, defaults: true, enums: String, longs: String },
);

// biome-ignore lint/suspicious/noExplicitAny: messages are whatever a test sends and expects
export type Message = Record<string, any>;

export interface Outcome {
  readonly response: Message;
  readonly headers: Metadata;
}

export interface Failure {
  readonly status: string;
  readonly details: string;
  readonly metadata: Metadata;
}

export interface CallSettings {
  readonly metadata?: Readonly<Record<string, string | readonly string[]>>;
  readonly deadline?: Date | number;
  readonly signal?: AbortSignal;
}

export class InferenceClient {
  readonly #client: Client;

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
      // Channels of equal options would share a connection, and a test could end another's.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      'grpc.enable_retries': 0,
    });
  }

  infer(request: Message, settings?: CallSettings): Promise<Outcome> {
    return this.call('inference.GRPCInferenceService', 'ModelInfer', request, settings);
  }

  async ask(method: string, request: Message = {}): Promise<Message> {
    return (await this.call('inference.GRPCInferenceService', method, request)).response;
  }

  async health(service: string): Promise<Message> {
    return (await this.call('grpc.health.v1.Health', 'Check', { service })).response;
  }

  watch(service: string): ClientReadableStream<Message> {
    const { path, requestSerialize, responseDeserialize } = methodOf('grpc.health.v1.Health', 'Watch');
    return this.#client.makeServerStreamRequest(
      path,
      requestSerialize,
      responseDeserialize as (bytes: Buffer) => Message,
      { service },
    );
  }

  call(service: string, method: string, request: Message, settings: CallSettings = {}): Promise<Outcome> {
    const { path, requestSerialize, responseDeserialize } = methodOf(service, method);
    return this.#unary(
      path,
      requestSerialize,
      responseDeserialize as (b: Buffer) => Message,
      request,
      settings,
    );
  }

  /** Bytes in the place of a message. */
  callRaw(path: string, bytes: Buffer): Promise<Outcome> {
    return this.#unary(
      path,
      () => bytes,
      (answer) => ({ answer }),
      {},
      {},
    );
  }

  close(): void {
    this.#client.close();
  }

  #unary(
    path: string,
    serialize: (request: Message) => Buffer,
    deserialize: (bytes: Buffer) => Message,
    request: Message,
    { metadata = {}, deadline = Infinity, signal }: CallSettings,
  ): Promise<Outcome> {
    const sent = new Metadata();
    for (const [key, values] of Object.entries(metadata))
      for (const value of [values].flat()) sent.add(key, value);
    return new Promise((resolve, reject) => {
      let headers = new Metadata();
      const call = this.#client.makeUnaryRequest(
        path,
        serialize,
        deserialize,
        request,
        sent,
        { deadline },
        (error, response) => (error ? reject(error) : resolve({ response: response as Message, headers })),
      );
      call.on('metadata', (received: Metadata) => {
        headers = received;
      });
      signal?.addEventListener('abort', () => call.cancel(), { once: true });
    });
  }
}

function methodOf(service: string, method: string) {
  const definition = (packages[service] as ServiceDefinition)[method];
  if (!definition) throw new Error(`no method ${method}`);
  return definition;
}

/** How a call failed; that it did not is the test's failure. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const error = await call.then(
    () => undefined,
    (failed: ServiceError) => failed,
  );
  if (!error) throw new Error('expected the call to fail');
  if (error.code === undefined) throw error;
  return { status: status[error.code], details: error.details, metadata: error.metadata };
}
