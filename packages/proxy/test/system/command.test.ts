/** The command and the backend in separate processes, and signals to them. */
import { status as STATUS } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { grpcClient } from '../support/grpc-client.js';
import { proxyCommand } from '../support/proxy-command.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';

/** The flags of the seed. */
const seedFlags = ['--max-batch-size', '8', '--timeout-usecs', '2000', '--max-batches-in-flight', '1'];

it("the seed's flags batch the calls to an existing service", async () => {
  const backend = await grpcBackend();
  const { port } = await proxyCommand(...seedFlags, '--forwarding-target', backend.target);
  const client = grpcClient(port);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => client.call(`${index}`)));
  expect(answers.map(({ status, answer }) => [status, String(answer)])).toEqual(
    answers.map((_, index) => [0, `${index}`]),
  );
  const sizes = () => backend.batches.map(({ size }) => size);
  const sum = () => sizes().reduce((total, size) => total + size, 0);
  await eventually('all batches to be reported', () => sum() >= 100);
  expect(sum()).toBe(100);
  expect(Math.max(...sizes())).toBe(8);
});

it('on SIGTERM accepted calls are finished, new calls are rejected, and it exits with 0', async () => {
  const backend = await rawBackend();
  const { child, port } = await proxyCommand('--max-batch-size', '2', '--forwarding-target', backend.target);
  const client = rawClient(port);
  await backend.behaveOnce([{ do: 'hold', name: 'gate' }, { do: 'echo' }, { do: 'end' }]);
  const first = client.call('first');
  await backend.untilHeld('gate');
  const queued = ['second', 'third', 'fourth'].map((message) => client.call(message));
  await new Promise<void>((resolve) => client.session.ping(() => resolve()));
  const exited = child.kill('SIGTERM');
  const late = grpcClient(port);
  await eventually('new calls to be rejected', async () => {
    const { status } = await late.call('late', { deadline: Date.now() + 5000 });
    return status === STATUS.UNAVAILABLE;
  });
  expect(child.isRunning).toBe(true);
  await backend.release('gate');
  expect(await first).toMatchObject({ status: 0, text: 'first' });
  const answers = await Promise.all(queued);
  expect(answers.map(({ status, text }) => [status, text])).toEqual([
    [0, 'second'],
    [0, 'third'],
    [0, 'fourth'],
  ]);
  expect(await exited).toEqual({ code: 0, signal: null });
});

it('on SIGTERM under load every open call ends with its answer or UNAVAILABLE, and it exits with 0', async () => {
  const backend = await rawBackend();
  const { child, port } = await proxyCommand(...seedFlags, '--forwarding-target', backend.target);
  const client = grpcClient(port);
  let succeeded = 0;
  const ends: number[] = [];
  const users = Array.from({ length: 24 }, async (_, user) => {
    for (;;) {
      const { status, answer } = await client.call(`${user}`);
      if (status !== 0) {
        ends.push(status);
        return;
      }
      expect(String(answer)).toBe(`${user}`);
      succeeded += 1;
    }
  });
  await eventually('some answers', () => succeeded > 300);
  expect(await child.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  await Promise.all(users);
  expect(new Set(ends)).toEqual(new Set([STATUS.UNAVAILABLE]));
  await backend.flushed();
  expect(backend.streams.reduce((sum, { items }) => sum + items.length, 0)).toBe(succeeded);
});

it('after SIGKILL the backend sees cancelled streams and callers get UNAVAILABLE', async () => {
  const backend = await rawBackend();
  const { child, port } = await proxyCommand('--forwarding-target', backend.target);
  await backend.behave({ do: 'nothing' });
  const calling = grpcClient(port).call('x');
  const { id } = await backend.nextStream();
  await child.kill('SIGKILL');
  expect((await calling).status).toBe(STATUS.UNAVAILABLE);
  expect(await backend.untilClosed(id)).toMatchObject({ answered: 0 });
});
