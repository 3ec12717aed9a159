/** A port that nobody uses at the moment. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

export async function freePort(host: string): Promise<number> {
  const server = createServer();
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
