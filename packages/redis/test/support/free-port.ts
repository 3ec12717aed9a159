/** A port that nobody listens on now. */
import { createServer } from 'node:net';

/** Below the ports that outgoing connections are given, so that it is still free after a restart. */
const firstPort = 10_000;
const endPort = 30_000;

export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= 100; attempt += 1) {
    const port = firstPort + Math.floor(Math.random() * (endPort - firstPort));
    if (await isFree(port)) return port;
  }
  throw new Error(`expected a free port from ${firstPort} to ${endPort - 1}; 100 random ones were taken`);
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
