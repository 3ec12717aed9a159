/** The services of `proto/`, as grpc-js takes them. */
import { fileURLToPath } from 'node:url';
import { readInferRequest } from '@batchwise/runners';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';
import { badRequest, RequestError } from '../request-error.js';
import { readingRequest } from '../request-reading.js';
import { reflectedPackage } from './reflected-package.js';

export interface ServiceDefinitions {
  readonly inference: ServiceDefinition;
  readonly health: ServiceDefinition;
  /** All of it, for reflection. */
  readonly reflected: PackageDefinition;
}

export const INFERENCE_SERVICE = 'inference.GRPCInferenceService';
const HEALTH_SERVICE = 'grpc.health.v1.Health';

const protoFile = (name: string) => fileURLToPath(new URL(`../../proto/${name}`, import.meta.url));

let loaded: ServiceDefinitions | undefined;

export function serviceDefinitions(): ServiceDefinitions {
  loaded ??= load();
  return loaded;
}

function load(): ServiceDefinitions {
  const files = [protoFile('inference.proto'), protoFile('health.proto')];
  const packages = loadSync(files, { defaults: true, enums: String });
  return {
    inference: tolerant(withTensors(packages[INFERENCE_SERVICE] as ServiceDefinition)),
    health: tolerant(packages[HEALTH_SERVICE] as ServiceDefinition),
    // With the names as they are written, not as our code likes them.
    reflected: reflectedPackage(loadSync(files, { keepCase: true })),
  };
}

/** ModelInfer is decoded by us, and its answers come encoded. */
function withTensors(service: ServiceDefinition): ServiceDefinition {
  const infer = service.ModelInfer as MethodDefinition<unknown, unknown>;
  return {
    ...service,
    ModelInfer: {
      ...infer,
      requestDeserialize: (bytes: Buffer) => readingRequest(() => readInferRequest(bytes)),
      responseSerialize: (encoded: unknown) => encoded as Buffer,
    },
  };
}

/**
 * Bytes that are no message reach the handler as a `RequestError` in the place of the request: grpc-js
 * would call them an internal error, without a reason.
 */
function tolerant(service: ServiceDefinition): ServiceDefinition {
  const methods: Record<string, MethodDefinition<unknown, unknown>> = {};
  for (const [name, method] of Object.entries(service)) {
    methods[name] = {
      ...method,
      requestDeserialize: (bytes: Buffer): unknown | RequestError => {
        try {
          return method.requestDeserialize(bytes);
        } catch (error) {
          if (error instanceof RequestError) return error;
          return badRequest(
            'message',
            `expected a protobuf message for ${method.path}, got bytes that are none: ${reason(error)}.`,
          );
        }
      },
    };
  }
  return methods;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
