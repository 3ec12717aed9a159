/** `npm run frameworks`: the same load on the same endpoint in each framework, or one of them to send requests to. */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { POST } from './app/predict/route.js';
import { measure, overload, type Send } from './load.js';
import { batcher } from './model.js';
import { SERVERS, type ServerName } from './servers.js';

const HELP = `One endpoint in Express, Fastify, Hono, NestJS and a Next.js route handler.

  npm run frameworks                        a table of all of them
  npm run frameworks -- --serve express     POST http://127.0.0.1:3000/predict, until Ctrl-C

  --seconds <number>    how long each is measured, without and with batches (default 1)
  --callers <count>     how many callers send requests at the same time (default 32)
  --burst <count>       how many requests are sent at once to overload it (default 500)
  --serve <framework>   ${Object.keys(SERVERS).join(', ')}
  --port <number>       for --serve (default 3000; 0 for any free port)
`;

const NAMES: Readonly<Record<ServerName, string>> = {
  express: 'Express',
  fastify: 'Fastify',
  hono: 'Hono',
  nest: 'NestJS',
};

/** The batcher as the table uses it: no admission control while throughput is measured. */
const UNLIMITED = { targetLatencyMs: Number.POSITIVE_INFINITY, timeoutMs: Number.POSITIVE_INFINITY };
const LIMITED = { targetLatencyMs: 100 };

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    seconds: { type: 'string', default: '1' },
    callers: { type: 'string', default: '32' },
    burst: { type: 'string', default: '500' },
    serve: { type: 'string' },
    port: { type: 'string', default: '3000' },
  },
});

if (values.help) console.log(HELP);
else if (values.serve !== undefined) await serveOne(values.serve, Number(values.port));
else await compare();

async function serveOne(name: string, port: number): Promise<void> {
  if (!isServerName(name))
    throw new Error(`--serve: expected ${Object.keys(SERVERS).join(', ')}, got ${name}`);
  const server = await SERVERS[name](port);
  console.log(`${NAMES[name]} listens at ${server.url}/predict`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await server.close();
  await batcher.close();
}

async function compare(): Promise<void> {
  console.log(
    `${values.callers} callers; the model takes 20 ms per batch of up to 8. Then ${values.burst} requests at once.\n`,
  );
  printRow('', 'one by one', 'in batches', 'p50', 'p99', 'batch', 'burst: 200', '429', 'retry-after');
  for (const name of Object.keys(SERVERS).filter(isServerName)) {
    const server = await SERVERS[name](0);
    await printFigures(NAMES[name], (body) =>
      fetch(`${server.url}/predict`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      }),
    );
    await server.close();
  }
  const request = (body: string) => new Request('http://localhost/predict', { method: 'POST', body });
  await printFigures('Next.js (called)', (body) => POST(request(body)));
  await batcher.close();
}

async function printFigures(name: string, send: Send): Promise<void> {
  const [callers, seconds, burst] = [values.callers, values.seconds, values.burst].map(Number) as [
    number,
    number,
    number,
  ];
  batcher.configure({ ...UNLIMITED, maxBatchSize: 1 });
  const single = await measure(send, callers, seconds);
  batcher.configure({ ...UNLIMITED, maxBatchSize: 8 });
  const batched = await measure(send, callers, seconds);
  batcher.configure(LIMITED);
  const { answered, rejected, retryAfter } = await overload(send, burst);
  printRow(
    name,
    `${single.perSecond.toFixed(0)}/s`,
    `${batched.perSecond.toFixed(0)}/s`,
    `${batched.p50Ms.toFixed(0)} ms`,
    `${batched.p99Ms.toFixed(0)} ms`,
    batched.meanBatchSize.toFixed(1),
    String(answered),
    String(rejected),
    retryAfter,
  );
}

function printRow(name: string, ...cells: string[]): void {
  console.log(name.padEnd(16) + cells.map((cell) => cell.padStart(12)).join(''));
}

function isServerName(name: string): name is ServerName {
  return Object.hasOwn(SERVERS, name);
}
