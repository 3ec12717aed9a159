/** A TCP relay between the proxy and a backend that counts the open connections of the proxy. */
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface TcpRelay {
  readonly target: string;
  /** Open connections of the proxy. */
  readonly open: number;
  readonly opened: number;
}

/** Closed after the current test. */
export async function tcpRelay(port: number): Promise<TcpRelay> {
  const held = new Set<Socket>();
  const all: Socket[] = [];
  let opened = 0;
  // Half open: only the end of the proxy's side is counted.
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    opened += 1;
    held.add(near);
    all.push(near, far);
    for (const ending of ['end', 'close', 'error']) near.on(ending, () => held.delete(near));
    far.on('error', () => near.destroy());
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of all) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return {
    target: `127.0.0.1:${address.port}`,
    get open() {
      return held.size;
    },
    get opened() {
      return opened;
    },
  };
}
