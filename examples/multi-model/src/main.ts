/** `npm run multi-model`: two models, awaited one after the other and together. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { call } from './callers.js';

const HELP = `Two models behind one route, awaited one after the other and together.

  npm run multi-model                     from the root of the repository
  npm run multi-model -- --callers 64     with flags

  --seconds <number>   how long each measurement takes (default 3)
  --callers <count>    how many callers send requests at the same time (default 32)
`;

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
  const server = await startServer();
  try {
    console.log('iris takes 20 ms per batch, digits 30 ms.\n');
    printRow('', '1 caller', '', `${values.callers} callers`, '', '');
    printRow('', 'p50 ms', 'p99 ms', 'requests/s', 'p50 ms', 'p99 ms');
    await measure('one after the other', `${server.url}/in-turn`);
    await measure('together', `${server.url}/together`);
  } finally {
    await server.stop();
  }
}

async function measure(name: string, url: string): Promise<void> {
  const { signal } = interruption;
  const [seconds, callers] = [Number(values.seconds), Number(values.callers)];
  const alone = await call({ url, callers: 1, seconds, signal });
  const many = await call({ url, callers, seconds, signal });
  if (signal.aborted) return;
  printRow(
    name,
    alone.p50Ms.toFixed(1),
    alone.p99Ms.toFixed(1),
    many.perSecond.toFixed(0),
    many.p50Ms.toFixed(1),
    many.p99Ms.toFixed(1),
  );
}

/** `batchwise serve service.ts` in a process of its own, on a free port. */
async function startServer(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const cli = dirname(createRequire(import.meta.url).resolve('@batchwise/cli/package.json'));
  const service = fileURLToPath(new URL('../src/service.ts', import.meta.url));
  const args = [join(cli, 'bin/batchwise.js'), 'serve', service, '--port', '0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  let output = '';
  const url = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
        if (found !== undefined) resolve(found);
      });
    }
  });
  const failed = closed.then(() => {
    throw new Error(`the server has ended too early: ${output}`);
  });
  failed.catch(() => {});
  return {
    url: await Promise.race([url, failed]),
    async stop() {
      child.kill('SIGTERM');
      await closed;
    },
  };
}

function printRow(name: string, ...cells: string[]): void {
  console.log(name.padEnd(20) + cells.map((cell) => cell.padStart(12)).join(''));
}
