/** The method of a gRPC target: from a `.proto` file or the server's reflection, checked, with its request type. */
import protobuf from 'protobufjs';
import { LoadError } from '../load-error.js';
import type { GrpcReflection } from './grpc-reflection.js';

export interface MethodName {
  /** `package.Service` */
  readonly service: string;
  readonly method: string;
}

/** @throws {LoadError} INVALID_OPTION: an invalid file, a service or method that it does not have, a stream */
export async function requestTypeOfProto(file: string, name: MethodName): Promise<protobuf.Type> {
  let root: protobuf.Root;
  try {
    // Names as in the file, as those of reflection are.
    root = await new protobuf.Root().load(file, { keepCase: true });
    root.resolveAll();
  } catch (error) {
    throw new LoadError('INVALID_OPTION', `proto: ${file} cannot be used: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  const services = servicesOf(root);
  if (!services.includes(name.service)) {
    throw new LoadError('INVALID_OPTION', noService(name.service, file, services));
  }
  return requestTypeOf(root, name, 'INVALID_OPTION');
}

/** @throws {LoadError} UNREACHABLE: a service or method that the server does not have, a stream */
export async function requestTypeOfServer(
  reflection: GrpcReflection,
  name: MethodName,
): Promise<protobuf.Type> {
  const services = await reflection.services();
  if (!services.includes(name.service)) {
    throw new LoadError('UNREACHABLE', noService(name.service, 'The server', services));
  }
  const root = await reflection.rootOf(name.service);
  if (root === undefined) {
    throw new LoadError(
      'UNREACHABLE',
      `The server lists ${name.service}, but its reflection does not describe it.`,
    );
  }
  root.resolveAll();
  return requestTypeOf(root, name, 'UNREACHABLE');
}

function requestTypeOf(
  root: protobuf.Root,
  { service, method }: MethodName,
  code: LoadError['code'],
): protobuf.Type {
  const { methods } = root.lookupService(service);
  const found = methods[method];
  if (found === undefined) {
    const names = Object.values(methods)
      .filter(({ requestStream, responseStream }) => !requestStream && !responseStream)
      .map(({ name }) => name);
    throw new LoadError(code, `${service} has no method ${method}. Its unary methods: ${listed(names)}.`);
  }
  if (found.requestStream || found.responseStream) {
    throw new LoadError(code, `${service}/${method} is a stream: expected a unary method.`);
  }
  found.resolve();
  return found.resolvedRequestType as protobuf.Type;
}

function noService(service: string, where: string, services: readonly string[]): string {
  const others = services.filter((name) => !name.startsWith('grpc.reflection.'));
  return `${where} has no service ${service}. Its services: ${listed(others)}.`;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ');
}

function servicesOf(space: protobuf.NamespaceBase): string[] {
  return space.nestedArray.flatMap((one) => {
    if (one instanceof protobuf.Service) return [one.fullName.slice(1)];
    return one instanceof protobuf.Namespace ? servicesOf(one) : [];
  });
}
