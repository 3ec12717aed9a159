/** A TCP connection to the broker that a test can cut or hold. */
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

export interface TcpLink extends AsyncDisposable {
  readonly port: number;
  /** Both sides see the connection end. */
  cut(): void;
  /** The broker receives nothing from now on. */
  hold(): void;
}

export async function startTcpLink(targetPort: number): Promise<TcpLink> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const broker = createConnection({ host: '127.0.0.1', port: targetPort });
    clients.add(client);
    for (const [socket, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    hold() {
      for (const client of clients) client.unpipe().pause();
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
