/** The service of inference.proto for @grpc/grpc-js: its definition, its client, its messages. */
import { fileURLToPath } from 'node:url';
import {
  type ChannelCredentials,
  type Client,
  loadPackageDefinition,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export interface Input {
  readonly features: number[];
}

export interface Output {
  readonly label: number;
}

export interface InferenceClient extends Client {
  compute(input: Input, callback: (error: ServiceError | null, output?: Output) => void): void;
}

interface InferenceConstructor {
  new (address: string, credentials: ChannelCredentials): InferenceClient;
  readonly service: ServiceDefinition;
}

const file = fileURLToPath(new URL('../inference.proto', import.meta.url));
const definitions = loadPackageDefinition(loadSync(file, { defaults: true }));

export const { Inference } = definitions.example as unknown as { readonly Inference: InferenceConstructor };
