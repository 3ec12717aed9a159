/**
 * The backend side for servers of @grpc/grpc-js: turns a function over items into the streaming method that receives the
 * batches of a proxy, and into the unary method.
 *
 *     const implementation = serveBatched(Inference.service, {
 *       async compute(items, { signal }) {
 *         return model.run(items, signal); // one result per item, in the same order
 *       },
 *     });
 *     server.addService(Inference.service, implementation);
 */
import type {
  MethodDefinition,
  ServerDuplexStream,
  ServerUnaryCall,
  ServiceDefinition,
  sendUnaryData,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { BatchwiseError } from 'batchwise';
import { expected, invalidOption } from '../options/valid-option.js';
import type { ServedMethod } from './batched-call.js';
import { findMethods, keyedByDefinition } from './batched-definition.js';
import {
  type BatchedMethod,
  type BatchedMethods,
  type BatchedSettings,
  type ServeBatchedOptions,
  validBatchedOptions,
} from './batched-options.js';
import { serveStream, serveUnary } from './serve-calls.js';

/** An implementation for `server.addService(definition, …)`. Throws if the definition lacks a method. */
export function serveBatched<Definition extends ServiceDefinition>(
  definition: Definition,
  methods: BatchedMethods<Definition>,
  options: ServeBatchedOptions = {},
): UntypedServiceImplementation {
  const settings = validBatchedOptions(options);
  const names = Object.keys(methods);
  if (names.length === 0) {
    throw invalidOption('Expected a method to serve, { compute(items) {…} }, got none.');
  }
  for (const name of Object.keys(options.batched ?? {})) {
    if (!names.includes(name)) {
      throw invalidOption(
        `batched: expected one of the served methods (${names.join(', ')}), got "${name}".`,
      );
    }
  }

  const implementation: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries<unknown>(methods)) {
    if (typeof handler !== 'function') {
      throw expected(`"${name}"`, 'a function from items to results', handler);
    }
    const { unary, streaming } = findMethods(definition, name, options.batched?.[name]);
    const method = servedMethod(name, handler as BatchedMethod<unknown, unknown>, streaming.method, settings);
    implementation[streaming.key] = (call: ServerDuplexStream<unknown, unknown>) => serveStream(method, call);
    if (unary !== undefined) {
      implementation[unary.key] = (
        call: ServerUnaryCall<unknown, unknown>,
        callback: sendUnaryData<unknown>,
      ) => void serveUnary(method, call, callback);
    }
  }
  return { ...implementation, ...keyedByDefinition(definition, options.others ?? {}) };
}

function servedMethod(
  name: string,
  handler: BatchedMethod<unknown, unknown>,
  { requestSerialize, responseSerialize, responseDeserialize }: MethodDefinition<unknown, unknown>,
  settings: BatchedSettings,
): ServedMethod {
  return {
    name,
    handler,
    settings,
    serialize: responseSerialize,
    checksAnswers: false,
    bytesOf: settings.bytesOf ?? ((item) => requestSerialize(item).length),
    emptyAnswer: () => {
      if ('emptyAnswer' in settings) return settings.emptyAnswer;
      try {
        return responseDeserialize(Buffer.alloc(0));
      } catch (cause) {
        const message = `Items of "${name}" failed, and an empty message is not a valid answer: set emptyAnswer.`;
        throw new BatchwiseError('INVALID_OPTION', message, { cause });
      }
    },
  };
}
