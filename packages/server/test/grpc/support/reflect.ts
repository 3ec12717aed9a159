/** Asks a server about itself, as grpcurl does. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client, credentials, type ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { Message } from './inference-client.js';

const entry = createRequire(import.meta.url).resolve('@grpc/reflection');

export async function reflect(
  port: number,
  version: string,
  questions: readonly Message[],
): Promise<Message[]> {
  const { stream, client } = conversation(port, version);
  try {
    for (const question of questions) stream.write(question);
    stream.end();
    const answers: Message[] = [];
    for await (const answer of stream) answers.push(answer as Message);
    return answers;
  } finally {
    client.close();
  }
}

/** One that is not ended by itself. */
export function conversation(port: number, version: string) {
  const file = join(dirname(entry), '../proto', ...version.split('.'), 'reflection.proto');
  const service = loadSync(file, { keepCase: true })[`${version}.ServerReflection`] as ServiceDefinition;
  const method = service.ServerReflectionInfo;
  if (!method) throw new Error(`no reflection in ${file}`);
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = method;
  return { stream: client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize), client };
}
