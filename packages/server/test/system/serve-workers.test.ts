/** A server of several real processes as a whole. Needs what `npm run build` makes. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { InferenceClient, type Message } from '../grpc/support/inference-client.js';
import { until } from './processes-support.js';
import { ServeProcess } from './serve-process.js';

test('while its models warm up it is alive and not ready', async () => {
  const gate = join(tmpdir(), `batchwise-gate-${process.pid}-${performance.now()}`);
  const server = await ServeProcess.launch({ env: { GATE: gate } });
  const isUp = () =>
    server.fetch('/livez').then(
      ({ status }) => status === 200,
      () => false,
    );
  await until(isUp, 'it is alive');
  const readiness = await server.fetch('/readyz');
  expect([readiness.status, await readiness.json()]).toEqual([
    503,
    expect.objectContaining({ code: 'NOT_READY', detail: expect.stringContaining('place is loading') }),
  ]);
  expect((await server.fetch('/place')).status).toBe(503);
  expect(server.isStarted).toBe(false);
  writeFileSync(gate, '');
  await server.started();
  // Whichever web process answers, from the first request on.
  const answers = await Promise.all(Array.from({ length: 8 }, () => server.fetch('/place')));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect((await server.fetch('/readyz')).status).toBe(200);
});

test('who asks whether it lives need not wait for those who keep its only process busy', async () => {
  const server = await ServeProcess.start({ workers: 1 });
  let answered = 0;
  const crowd = Array.from({ length: 400 }, async () => {
    await (await server.fetch('/busy', 1)).text();
    answered += 1;
  });
  expect((await server.fetch('/livez')).status).toBe(200);
  expect(answered).toBeLessThan(crowd.length / 2);
  await Promise.all(crowd);
});

test('each replica sees the devices of its runner and no others', async () => {
  const server = await ServeProcess.start({
    yaml: 'runners:\n  place:\n    replicas: 2\n    resources: { gpu: [2, 5] }\n',
  });
  const places = new Map<number, string | undefined>();
  await until(async () => {
    const { pid, devices } = (await (await server.fetch('/place')).json()) as {
      pid: number;
      devices?: string;
    };
    places.set(pid, devices);
    return places.size === 2;
  }, 'both replicas answer');
  expect([...places.values()]).toEqual(['2,5', '2,5']);
});

describe('a fault of the service', () => {
  test('in what it says of an item is a 500, and the log has the stack', async () => {
    const server = await ServeProcess.start();
    const answer = await server.fetch('/weigh', {});
    const text = await answer.text();
    expect(answer.status).toBe(500);
    expect(text).not.toMatch(/costOf|undefined|length/);
    await until(
      () => server.logs.join('\n').includes('workers-service.mjs'),
      'the runner process tells where',
    );
    expect(server.logs.join('\n')).toMatch(/weighed: costOf\(item\) threw: Cannot read/);
    expect((await server.fetch('/weigh', { text: 'a' })).status).toBe(200);
  });

  test.each([
    ['one process', 1],
    ['several processes', 2],
  ])(
    'that leaves a rejected promise behind is told and counted, and nobody pays for it: %s',
    async (_, workers) => {
      const server = await ServeProcess.start({ workers });
      expect((await server.fetch('/forget', {})).status).toBe(200);
      await until(
        () => server.logs.join('\n').includes('Unhandled promise rejection: Error: forgotten'),
        'the log tells',
      );
      expect(server.logs.join('\n')).toContain('workers-service.mjs');
      expect((await server.fetch('/place')).status).toBe(200);
      const metrics = await (await server.fetch('/metrics')).text();
      expect(metrics).toContain('\nbatchwise_unhandled_rejections_total 1\n');
      expect(metrics).not.toMatch(/^batchwise_process_restarts_total.* [^0]/m);
    },
  );

  test('an item that cannot be sent to the runner is a 500, and the log says what and to whom', async () => {
    const server = await ServeProcess.start();
    const answer = await server.fetch('/unsendable', {});
    const text = await answer.text();
    expect(answer.status).toBe(500);
    expect(text).not.toMatch(/cloned|=>/);
    const line =
      /POST \/unsendable failed.*place: an item cannot be sent to the process of this runner: \(\) => \{\} could not be cloned/;
    await until(() => line.test(server.logs.join('\n')), 'the log tells');
  });
});

test('who watches its health by gRPC hears that a runner died, and that it is back', async () => {
  const server = await ServeProcess.start({ workers: 2 });
  const { pid } = (await (await server.fetch('/place')).json()) as { pid: number };
  const client = new InferenceClient(server.grpcPort);
  const told: string[] = [];
  const watch = client.watch('');
  onTestFinished(() => {
    watch.cancel();
    client.close();
  });
  watch.on('error', () => {});
  watch.on('data', ({ status }: Message) => told.push(status));
  await until(() => told.length === 1, 'it is told how things are');
  process.kill(pid, 'SIGKILL');
  await until(() => told.length === 3, 'it is told of both changes');
  expect(told).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
});
