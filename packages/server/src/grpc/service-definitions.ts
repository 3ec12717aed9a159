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

/** Messages that ask a question name a model, a service or a symbol; generic decoders make an object of each field. */
const MOST_QUESTION_BYTES = 64 * 1024;

let loaded: { readonly packages: PackageDefinition; readonly reflected: PackageDefinition } | undefined;

/** A ModelInfer message may have `maxFields` fields. */
export function serviceDefinitions(maxFields: number): ServiceDefinitions {
  loaded ??= load();
  const { packages, reflected } = loaded;
  return {
    inference: tolerant(withTensors(packages[INFERENCE_SERVICE] as ServiceDefinition, maxFields)),
    health: tolerant(limited(packages[HEALTH_SERVICE] as ServiceDefinition)),
    reflected,
  };
}

function load() {
  const files = [protoFile('inference.proto'), protoFile('health.proto')];
  return {
    packages: loadSync(files, { defaults: true, enums: String }),
    // With the names as they are written, not as our code likes them.
    reflected: reflectedPackage(loadSync(files, { keepCase: true })),
  };
}

/** ModelInfer is decoded by us, and its answers come encoded. */
function withTensors(service: ServiceDefinition, maxFields: number): ServiceDefinition {
  const infer = service.ModelInfer as MethodDefinition<unknown, unknown>;
  return {
    ...limited(service),
    ModelInfer: {
      ...infer,
      requestDeserialize: (bytes: Buffer) => readingRequest(() => readInferRequest(bytes, maxFields)),
      responseSerialize: (encoded: unknown) => encoded as Buffer,
    },
  };
}

/** With a limit to the size of requests that holds before they are decoded. */
export function limited(service: ServiceDefinition): ServiceDefinition {
  return withDeserialize(service, ({ path, requestDeserialize }, bytes) => {
    if (bytes.length <= MOST_QUESTION_BYTES) return requestDeserialize(bytes);
    const message = `expected at most ${MOST_QUESTION_BYTES} bytes for ${path}, got ${bytes.length}.`;
    throw new RequestError('TOO_LARGE', message, { where: 'message' });
  });
}

/**
 * Bytes that are no message reach the handler as a `RequestError` in the place of the request: grpc-js
 * would call them an internal error, without a reason.
 */
function tolerant(service: ServiceDefinition): ServiceDefinition {
  return withDeserialize(service, ({ path, requestDeserialize }, bytes) => {
    try {
      return requestDeserialize(bytes);
    } catch (error) {
      if (error instanceof RequestError) return error;
      return badRequest(
        'message',
        `expected a protobuf message for ${path}, got invalid bytes: ${reason(error)}.`,
      );
    }
  });
}

function withDeserialize(
  service: ServiceDefinition,
  deserialize: (method: MethodDefinition<unknown, unknown>, bytes: Buffer) => unknown,
): ServiceDefinition {
  const methods: Record<string, MethodDefinition<unknown, unknown>> = {};
  for (const [name, method] of Object.entries(service)) {
    methods[name] = { ...method, requestDeserialize: (bytes: Buffer) => deserialize(method, bytes) };
  }
  return methods;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
