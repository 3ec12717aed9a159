/**
 * Finds methods in a service definition of any origin: proto-loader names them `Compute`, code generators `compute`, and
 * both give them the path `/pkg.Service/Compute`.
 */
import type { MethodDefinition, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { invalidOption } from '../options/valid-option.js';

/** A method and its key in the definition. */
export interface FoundMethod {
  readonly key: string;
  readonly method: MethodDefinition<unknown, unknown>;
}

export interface MethodPair {
  /** Undefined if the definition has only the streaming method. */
  readonly unary: FoundMethod | undefined;
  readonly streaming: FoundMethod;
}

/** The unary method of that name and its streaming counterpart. */
export function findMethods(
  definition: ServiceDefinition,
  name: string,
  batched: string | undefined,
): MethodPair {
  const unary = findMethod(definition, name);
  if (unary !== undefined && kindOf(unary.method) !== 'unary') {
    throw invalidOption(
      `"${name}" is ${unary.method.path}, which is ${kindOf(unary.method)}: expected a unary method. ` +
        'Name the unary method; the name of the streaming method is derived from it.',
    );
  }
  const unaryName = unary === undefined ? capitalized(name) : nameIn(unary.method.path);
  const batchedName = batched ?? `Batched${unaryName}`;
  const streaming = findMethod(definition, batchedName);
  if (streaming === undefined) {
    throw invalidOption(
      `${serviceOf(definition)} has no method ${batchedName} for the batches of "${name}": expected ` +
        `"rpc ${batchedName} (stream Input) returns (stream Output)", got ${methodNames(definition)}. ` +
        `For another name, set { batched: { ${name}: '…' } }.`,
    );
  }
  if (kindOf(streaming.method) !== 'bidirectional streaming') {
    throw invalidOption(
      `${streaming.method.path} is ${kindOf(streaming.method)}: expected a bidirectional streaming method, ` +
        `"rpc ${batchedName} (stream Input) returns (stream Output)".`,
    );
  }
  return { unary, streaming };
}

/** Renames the keys of an implementation to the keys of the definition. */
export function keyedByDefinition(
  definition: ServiceDefinition,
  implementation: UntypedServiceImplementation,
): UntypedServiceImplementation {
  const keyed: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(implementation)) {
    const found = findMethod(definition, name);
    if (found === undefined) {
      throw invalidOption(
        `others: ${serviceOf(definition)} has no method "${name}"; it has ${methodNames(definition)}.`,
      );
    }
    keyed[found.key] = handler;
  }
  return keyed;
}

function findMethod(definition: ServiceDefinition, name: string): FoundMethod | undefined {
  for (const [key, method] of Object.entries(definition)) {
    if (key === name || capitalized(nameIn(method.path)) === capitalized(name)) return { key, method };
  }
  return undefined;
}

function kindOf({ requestStream, responseStream }: MethodDefinition<unknown, unknown>): string {
  if (requestStream && responseStream) return 'bidirectional streaming';
  if (requestStream) return 'client-streaming';
  return responseStream ? 'server-streaming' : 'unary';
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function serviceOf(definition: ServiceDefinition): string {
  return Object.values(definition)[0]?.path.split('/')[1] ?? 'The service';
}

function methodNames(definition: ServiceDefinition): string {
  const names = Object.values(definition).map(({ path }) => nameIn(path));
  return names.length > 0 ? names.join(', ') : 'none';
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
