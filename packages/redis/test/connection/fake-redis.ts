/** Answers what it is told to: for replies that a real Redis gives only in moments that are hard to meet. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { RespCommands } from '../support/resp-commands.js';

/** The words of a command → the reply as it goes over the wire, or nothing at all. */
export type Answer = (words: readonly string[]) => string | undefined;

export interface FakeRedis {
  readonly url: string;
  /** What came in, chunk by chunk as it was read from the socket, without the handshakes. */
  readonly chunks: readonly (readonly string[])[];
  readonly connections: number;
}

export async function startFakeRedis(answer: Answer, role = 'master'): Promise<FakeRedis> {
  const chunks: string[][] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    const commands = new RespCommands();
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      const names: string[] = [];
      for (const command of commands.push(bytes)) {
        const words = wordsOf(command);
        const isHandshake = words[0] === 'HELLO' || words[0] === 'PING';
        if (!isHandshake) names.push(words[0] ?? '');
        const reply = answer(words) ?? (isHandshake ? handshake(words, role) : undefined);
        if (reply !== undefined) socket.write(reply);
      }
      if (names.length > 0) chunks.push(names);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    chunks,
    get connections() {
      return connections;
    },
  };
}

function handshake([name]: readonly string[], role: string): string {
  return name === 'PING'
    ? '+PONG\r\n'
    : `*4\r\n$2\r\nid\r\n:1\r\n$4\r\nrole\r\n$${role.length}\r\n${role}\r\n`;
}

function wordsOf(command: Buffer): string[] {
  return command
    .toString('latin1')
    .split('\r\n')
    .filter((_, line) => line > 0 && line % 2 === 0);
}
