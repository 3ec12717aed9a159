/**
 * The end of a turn, for a server: 64 sockets of another thread, each with one request in flight, and a handler that
 * takes the same time for one item as for 64.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Batcher, type Handler } from 'batchwise';
import { nowMs } from '../stopwatch.js';
import { BATCH_SIZE } from './closed-loop.js';
import { Meter, type Timing } from './meter.js';
import { meanBatchSize, type Turn, type TurnResult, turnClocks } from './turn-clocks.js';

const SOCKETS = 64;
const BUSY_MS = 0.3;

/** The backend: another thread that takes 1 ms, or this thread for 0.3 ms. */
export type Backend = 'other thread' | 'this thread';

export interface TurnSocketsParams extends Timing {
  readonly turn: Turn;
  readonly backend: Backend;
  readonly concurrency: number;
}

export async function run({ turn, backend, concurrency, ...timing }: TurnSocketsParams): Promise<TurnResult> {
  const batcher = new Batcher(backend === 'other thread' ? sleepingBackends(concurrency) : busyHandler, {
    maxBatchSize: BATCH_SIZE,
    concurrency,
    clock: turnClocks[turn],
  });
  let before = batcher.stats();
  const meter = new Meter(timing, SOCKETS, () => {
    before = batcher.stats();
  });
  const server = createServer({ noDelay: true }, (socket) => serve(socket, batcher, meter));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  new Worker(new URL('./socket-clients.js', import.meta.url), { workerData: { port, sockets: SOCKETS } });

  const { perSecond } = await meter.done;
  return { perSecond, meanBatchSize: meanBatchSize(before, batcher.stats()) };
}

/** A client sends nothing before its response, so a chunk is a request. */
function serve(socket: Socket, batcher: Batcher<number, number>, meter: Meter): void {
  socket.on('data', (chunk) => {
    void batcher.submit(chunk.length).then(() => {
      socket.write(chunk);
      meter.tick();
    });
  });
}

const busyHandler: Handler<number, number> = async (items) => {
  const until = nowMs() + BUSY_MS;
  while (nowMs() < until);
  return items;
};

/** One backend per slot, in rotation. */
function sleepingBackends(count: number): Handler<number, number> {
  const backends = Array.from({ length: count }, () => sleepingBackend());
  let calls = 0;
  return async (items) => {
    await backends[calls++ % count]?.();
    return items;
  };
}

/** Responses have the order of the requests, so a queue of callbacks is sufficient. */
function sleepingBackend(): () => Promise<void> {
  const worker = new Worker(new URL('./sleeping-backend.js', import.meta.url));
  const pending: (() => void)[] = [];
  worker.on('message', () => pending.shift()?.());
  return () => {
    worker.postMessage(0);
    return new Promise((resolve) => pending.push(resolve));
  };
}
