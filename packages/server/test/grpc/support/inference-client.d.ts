import { type ClientReadableStream, Metadata } from '@grpc/grpc-js';
import { type PackageDefinition } from '@grpc/proto-loader';
export declare const packages: PackageDefinition;
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
export declare class InferenceClient {
  #private;
  constructor(port: number);
  infer(request: Message, settings?: CallSettings): Promise<Outcome>;
  ask(method: string, request?: Message): Promise<Message>;
  health(service: string): Promise<Message>;
  watch(service: string): ClientReadableStream<Message>;
  call(service: string, method: string, request: Message, settings?: CallSettings): Promise<Outcome>;
  /** Bytes in the place of a message. */
  callRaw(path: string, bytes: Buffer): Promise<Outcome>;
  close(): void;
}
/** How a call failed; that it did not is the test's failure. */
export declare function failureOf(call: Promise<unknown>): Promise<Failure>;
