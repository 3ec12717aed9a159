/** examples/grpc as its README describes it: the services, the proxy and the callers in processes of their own. */
import { fileURLToPath } from 'node:url';
import { credentials, type ServiceError, status } from '@grpc/grpc-js';
import { expect, onTestFinished, test } from 'vitest';
import { Inference } from '../../examples/grpc/src/inference.js';
import { type Child, startChild } from '../../packages/redis/test/support/child.js';
import { eventually } from '../../packages/redis/test/support/eventually.js';
import { forThisTest } from '../../packages/redis/test/support/for-this-test.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const main = `${root}examples/grpc/dist/main.js`;
const streamingService = `${root}examples/grpc/dist/streaming-service.js`;
const batchwise = `${root}packages/cli/bin/batchwise.js`;

const row = (name: string) => new RegExp(`^${name} +(\\d+\\.\\d +){2}\\d+ +(\\d+\\.\\d *){3}$`, 'm');

test('the command prints a row for each way to call the service, and ends', async () => {
  const child = await forThisTest(startChild(main, { args: ['--seconds', '0.3', '--callers', '8'] }));
  expect(await child.exited).toEqual({ code: 0, signal: null });
  for (const name of [
    'unary service, called directly',
    'proxy, window of 2 ms, batches of 8',
    'proxy, default settings',
  ]) {
    await eventually(`the row: ${name}`, () => row(name).test(child.output));
  }
  const batch = Number(/^proxy, window.* (\d+\.\d)$/m.exec(child.output)?.[1]);
  expect(batch).toBeGreaterThan(1);
  expect(batch).toBeLessThanOrEqual(8);
});

// Windows has no signals: kill() would simply end the process.
test.skipIf(process.platform === 'win32')('Ctrl-C stops the services and the proxy, too', async () => {
  const child = await forThisTest(startChild(main, { args: ['--seconds', '600', '--callers', '2'] }));
  await eventually('the first callers to start', () => child.output.includes('answers/s'));
  expect(await child.kill('SIGINT')).toEqual({ code: 130, signal: null });
  await eventually('the last line', () => child.output.includes('Interrupted.'));
});

async function portOf(child: Child): Promise<number> {
  return eventually('an address', () => {
    if (!child.isRunning) throw new Error(`expected a program that runs, got ${child.output}`);
    return Number(/ at 127\.0\.0\.1:(\d+)/.exec(child.output)?.[1] ?? 0) || undefined;
  });
}

test('the streaming service behind the proxy: batches of up to 8, and an invalid item fails alone', async () => {
  const service = await forThisTest(startChild(streamingService, { args: ['0'] }));
  const flags = ['--max-batch-size', '8', '--timeout-usecs', '2000', '--max-batches-in-flight', '1'];
  const target = `localhost:${await portOf(service)}`;
  const proxy = await forThisTest(
    startChild(batchwise, {
      args: ['proxy', '--port', '0', '--no-admin', ...flags, '--forwarding-target', target],
    }),
  );
  const client = new Inference(`127.0.0.1:${await portOf(proxy)}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const compute = (features: number[]) =>
    new Promise<number | ServiceError | undefined>((resolve) => {
      client.compute({ features }, (error, output) => resolve(error ?? output?.label));
    });

  const quarter = (label: number) =>
    Array.from({ length: 16 }, (_, i) => (Math.floor(i / 4) === label ? 1 : 0));
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) => compute(i === 50 ? [1, 2, 3] : quarter(i % 4))),
  );

  const [failed] = answers.splice(50, 1, 2);
  expect(answers).toEqual(answers.map((_, i) => i % 4));
  expect(failed).toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: 'features: expected 16 numbers, got 3',
  });
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const [, batches] = await eventually(
    'the number of batches',
    () => /ran 100 items in (\d+) batches/.exec(service.output) ?? undefined,
  );
  expect(Number(batches)).toBeGreaterThanOrEqual(100 / 8);
  expect(Number(batches)).toBeLessThan(100);
});
