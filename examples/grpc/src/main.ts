/** `npm run grpc`: the same callers without the proxy and with it. */
import { parseArgs } from 'node:util';
import { call, type Latencies } from './callers.js';
import { batchMs } from './model.js';
import { Program } from './program.js';

const HELP = `A gRPC service, called directly and through the batching proxy.

  npm run grpc                    from the root of the repository
  npm run grpc -- --callers 64    with flags

  --seconds <number>   how long each measurement takes (default 3)
  --callers <count>    how many callers send items at the same time (default 32)
`;

/** A batch is dispatched when it has 8 calls, or when its first call has waited 2 ms. */
const WINDOW = ['--max-batch-size', '8', '--timeout-usecs', '2000', '--max-batches-in-flight', '1'];

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    seconds: { type: 'string', default: '3' },
    callers: { type: 'string', default: '32' },
  },
});
const interruption = new AbortController();

if (values.help) console.log(HELP);
else {
  process.once('SIGINT', () => interruption.abort());
  process.once('SIGTERM', () => interruption.abort());
  await compare();
  if (interruption.signal.aborted) {
    console.log('\nInterrupted.');
    process.exitCode = 130;
  }
}

async function compare(): Promise<void> {
  console.log(
    `The model takes ${batchMs(1)} ms for one item, ${batchMs(8)} ms for 8, ${batchMs(32)} ms for 32.\n`,
  );
  printRow('', '1 caller', '', `${values.callers} callers`, '', '', '');
  printRow('', 'p50 ms', 'p99 ms', 'answers/s', 'p50 ms', 'p99 ms', 'batch');
  await measure('unary service, called directly', 'unary-service');
  await measure('proxy, window of 2 ms, batches of 8', 'streaming-service', WINDOW);
  await measure('proxy, default settings', 'streaming-service', []);
}

/** Starts the service, and the proxy if there are flags for it; stops both in the end. */
async function measure(name: string, serviceName: string, proxyFlags?: readonly string[]): Promise<void> {
  const { signal } = interruption;
  if (signal.aborted) return;
  await using service = await Program.service(serviceName);
  const target = `127.0.0.1:${service.port}`;
  await using proxy = proxyFlags && (await Program.proxy(...proxyFlags, '--forwarding-target', target));
  const { port } = proxy ?? service;
  const [seconds, callers] = [Number(values.seconds), Number(values.callers)];
  const alone = await call({ port, callers: 1, seconds, signal });
  const together = await call({ port, callers, seconds, signal });
  if (signal.aborted) return;
  await proxy?.stop();
  const [, items, batches] = (/ran (\d+) items in (\d+) batches/.exec(await service.stop()) ?? []).map(
    Number,
  );
  // The single caller's items were batches of one.
  const meanBatch = ((items ?? 0) - alone.calls) / ((batches ?? 0) - alone.calls);
  printRow(name, ...cells(alone, together), meanBatch.toFixed(1));
}

function cells(alone: Latencies, together: Latencies): string[] {
  const { perSecond, p50Ms, p99Ms } = together;
  return [
    alone.p50Ms.toFixed(1),
    alone.p99Ms.toFixed(1),
    perSecond.toFixed(0),
    p50Ms.toFixed(1),
    p99Ms.toFixed(1),
  ];
}

function printRow(name: string, ...row: string[]): void {
  console.log(name.padEnd(36) + row.map((cell) => cell.padStart(12)).join(''));
}
