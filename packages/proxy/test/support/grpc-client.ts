/** A client of @grpc/grpc-js with messages as bytes. */
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  type ClientOptions,
  type ClientUnaryCall,
  credentials,
  Metadata,
  type StatusObject,
} from '@grpc/grpc-js';
import { onTestFinished } from 'vitest';
import { computePath } from './raw-client.js';

export interface GrpcAnswer {
  readonly status: number;
  readonly message: string;
  /** Undefined when the call failed. */
  readonly answer: Buffer | undefined;
  readonly headers: Metadata;
  readonly trailers: Metadata;
}

export interface GrpcCallOptions extends CallOptions {
  readonly path?: string;
  readonly metadata?: Readonly<Record<string, string | Buffer>>;
}

export interface GrpcClientOptions extends ClientOptions {
  readonly credentials?: ChannelCredentials;
}

export const identity = (bytes: Buffer): Buffer => bytes;

/** Closed after the current test. */
export function grpcClient(port: number, options: GrpcClientOptions = {}): GrpcClient {
  const { credentials: given = credentials.createInsecure(), ...rest } = options;
  const client = new GrpcClient(
    new Client(`127.0.0.1:${port}`, given, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.max_receive_message_length': -1,
      ...rest,
    }),
  );
  onTestFinished(() => client.close());
  return client;
}

export class GrpcClient {
  readonly client: Client;

  constructor(client: Client) {
    this.client = client;
  }

  call(message: Buffer | string, options: GrpcCallOptions = {}): Promise<GrpcAnswer> {
    return this.begin(message, options).answer;
  }

  /** Access to a running call. */
  begin(
    message: Buffer | string,
    options: GrpcCallOptions = {},
  ): { call: ClientUnaryCall; answer: Promise<GrpcAnswer> } {
    const { path = computePath, metadata = {}, ...rest } = options;
    let headers = new Metadata();
    let received: Buffer | undefined;
    const call = this.client.makeUnaryRequest<Buffer, Buffer>(
      path,
      identity,
      identity,
      Buffer.from(message),
      metadataOf(metadata),
      rest,
      (_error, answer) => {
        received = answer;
      },
    );
    call.on('metadata', (came) => {
      headers = came;
    });
    const answer = new Promise<GrpcAnswer>((resolve) => {
      call.on('status', (status: StatusObject) => {
        // The callback and the status event come in any order.
        setImmediate(() =>
          resolve({
            status: status.code,
            message: status.details,
            answer: received,
            headers,
            trailers: status.metadata,
          }),
        );
      });
    });
    return { call, answer };
  }

  close(): void {
    this.client.close();
  }
}

export function metadataOf(entries: Readonly<Record<string, string | Buffer>>): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  return metadata;
}
