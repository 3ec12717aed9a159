/**
 * Asks a gRPC server for the descriptors of its services. `grpc.reflection.v1` first, then `v1alpha`, which is the same
 * protocol under its older name: https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
 */
import { type GrpcChannel, STATUS, statusName } from '@batchwise/grpc';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { LoadError } from '../load-error.js';
import { grpcCall } from './grpc-call.js';

const VERSIONS = ['grpc.reflection.v1', 'grpc.reflection.v1alpha'];

const { nested } = protobuf.parse(`
  syntax = "proto3";
  message Request {
    oneof question {
      string file_by_filename = 3;
      string file_containing_symbol = 4;
      string list_services = 7;
    }
  }
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Service { string name = 1; }
  message Services { repeated Service service = 1; }
  message Failure { int32 error_code = 1; string error_message = 2; }
  message Response {
    oneof answer {
      Files files = 4;
      Services services = 6;
      Failure failure = 7;
    }
  }`).root;
const Request = nested?.Request as protobuf.Type;
const Response = nested?.Response as protobuf.Type;

interface ResponseMessage {
  readonly files?: { readonly fileDescriptorProto?: readonly Uint8Array[] };
  readonly services?: { readonly service?: readonly { readonly name?: string }[] };
  readonly failure?: { readonly errorCode?: number; readonly errorMessage?: string };
}

type Question = { fileByFilename: string } | { fileContainingSymbol: string } | { listServices: string };
type FileDescriptor = protobuf.Message & descriptor.IFileDescriptorProto;

export class GrpcReflection {
  readonly #channel: GrpcChannel;
  readonly #metadata: Readonly<Record<string, string>>;
  readonly #version: string;

  private constructor(channel: GrpcChannel, metadata: Readonly<Record<string, string>>, version: string) {
    this.#channel = channel;
    this.#metadata = metadata;
    this.#version = version;
  }

  /** Undefined where the server has no reflection. */
  static async of(
    channel: GrpcChannel,
    metadata: Readonly<Record<string, string>>,
  ): Promise<GrpcReflection | undefined> {
    for (const version of VERSIONS) {
      const reflection = new GrpcReflection(channel, metadata, version);
      if ((await reflection.#ask({ listServices: '' })) !== undefined) return reflection;
    }
    return undefined;
  }

  async services(): Promise<string[]> {
    const answer = await this.#ask({ listServices: '' });
    return (answer?.services?.service ?? []).map(({ name = '' }) => name);
  }

  /** The file with the symbol and all files that it imports, as types. Undefined where the server has no such symbol. */
  async rootOf(symbol: string): Promise<protobuf.Root | undefined> {
    const first = await this.#ask({ fileContainingSymbol: symbol });
    if (first?.files === undefined) return undefined;
    const files = new Map<string, FileDescriptor>();
    const missing = new Set<string>();
    const take = (answer: ResponseMessage) => {
      for (const bytes of answer.files?.fileDescriptorProto ?? []) {
        const file = descriptor.FileDescriptorProto.decode(bytes) as FileDescriptor;
        files.set(file.name ?? '', file);
        for (const name of (file.dependency ?? []) as string[]) missing.add(name);
      }
    };
    take(first);
    for (const name of missing) {
      if (files.has(name)) continue;
      const answer = await this.#ask({ fileByFilename: name });
      if (answer?.files === undefined) {
        throw new LoadError(
          'UNREACHABLE',
          `The server imports ${name}, but its reflection does not have that file.`,
        );
      }
      take(answer);
    }
    const { fromDescriptor } = protobuf.Root as unknown as {
      fromDescriptor: (set: descriptor.IFileDescriptorSet) => protobuf.Root;
    };
    return fromDescriptor({ file: [...files.values()] });
  }

  /** Undefined where the server does not know the service of this version. */
  async #ask(question: Question): Promise<ResponseMessage | undefined> {
    const { end, message } = await grpcCall(this.#channel, {
      path: `/${this.#version}.ServerReflection/ServerReflectionInfo`,
      message: Request.encode(Request.create(question)).finish(),
      metadata: this.#metadata,
    });
    if (message !== undefined) return Response.decode(message) as ResponseMessage;
    if (end.status === STATUS.UNIMPLEMENTED) return undefined;
    throw new LoadError(
      'UNREACHABLE',
      `The reflection of the server failed: ${statusName(end.status)}: ${end.message}`,
    );
  }
}
