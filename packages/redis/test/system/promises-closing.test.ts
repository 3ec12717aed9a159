/** Clients and processors that end, as they should or not: nothing is lost, and nothing is left behind. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Gate } from '../chaos/gate.js';
import { type ChaosItem, Load } from '../chaos/load.js';
import { startProcessor } from '../chaos/start-program.js';
import { TestQueue } from '../chaos/test-queue.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const newQueue = () => forThisTest(new TestQueue(redis.url));
const answers = (items: ChaosItem[]) => items.map(({ id }) => ({ id }));

function clientKeys({ inspector }: TestQueue): Promise<string[]> {
  const { clients, replies } = inspector.keys;
  return inspector
    .allKeys()
    .then((keys) => keys.filter((key) => key.startsWith(clients) || key.startsWith(replies)));
}

test('a client that closes under load answers all that it accepted, and leaves nothing behind', async () => {
  const queue = await newQueue();
  queue.processor({ maxBatchSize: 8 });
  for (let round = 1; round <= 3; round += 1) {
    const client = queue.client();
    const load = new Load(client, queue.ledger);
    const requests = Array.from({ length: 200 }, () => load.request());
    const closed = client.close();
    const late = load.request();
    await closed;
    // By now, not later.
    expect(queue.ledger.unsettled).toBe(0);
    await Promise.all([...requests, late]);
  }
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.ledger.outcomes).toEqual({ answered: 600, CLOSED: 3 });
  expect(queue.executedAgain()).toEqual([]);
  expect(await clientKeys(queue)).toEqual([]);
});

test('a client that is destroyed settles its callers, and takes out of the queue what it had there', async () => {
  const queue = await newQueue();
  const client = queue.client();
  const load = new Load(client, queue.ledger);
  const requests = Array.from({ length: 50 }, () => load.request());
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 50);
  client.destroy();
  await Promise.all(requests);
  expect(queue.ledger.outcomes).toEqual({ CLOSED: 50 });
  await eventually('nothing to be left', async () => (await queue.inspector.outstanding()) === 0);
  await eventually('its keys to be gone', async () => (await clientKeys(queue)).length === 0);
});

test('a client that is destroyed while a submission is on its way takes that out as well', async () => {
  const queue = await newQueue();
  const client = queue.client();
  await client.ready;
  const load = new Load(client, queue.ledger);
  redis.pause();
  const request = load.request();
  try {
    await eventually('it to be on its way', () => client.stats().running === 1);
    client.destroy();
    await request;
  } finally {
    redis.resume();
  }
  await client.close();
  expect(queue.ledger.outcomes).toEqual({ CLOSED: 1 });
  const stream = (await queue.inspector.send(
    'XINFO',
    'STREAM',
    queue.inspector.keys.requests[1],
  )) as unknown[];
  expect(stream[stream.indexOf('entries-added') + 1]).toBe(1);
  expect(await queue.inspector.outstanding()).toBe(0);
  expect(await clientKeys(queue)).toEqual([]);
});

test('processors that close under load, one after the other, lose nothing and run nothing twice', async () => {
  const queue = await newQueue();
  const handler = async (items: ChaosItem[]) => {
    await new Promise((resolve) => setImmediate(resolve));
    return answers(items);
  };
  const options = { maxBatchSize: 8, concurrency: 2, leaseMs: 60_000 };
  const processors = [queue.processor(options, handler), queue.processor(options, handler)];
  const load = queue.load();
  await load.request();
  load.start(1000);
  for (let round = 1; round <= 5; round += 1) {
    processors.push(queue.processor(options, handler));
    const seen = queue.ledger.count('answered');
    await eventually('some to be answered', () => queue.ledger.count('answered') > seen + 50);
    await processors.shift()?.close();
  }
  await load.stop();
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.ledger.outcomes).toEqual({ answered: load.count });
  expect(queue.executedAgain()).toEqual([]);
  // The names of the closed processors are gone. Before 7.2, Redis knows a processor from its first item on, and the last
  // one may have started too late for any.
  const namesOf = (those: typeof processors) => those.map(({ consumer }) => consumer);
  const known = await queue.inspector.consumers();
  expect(namesOf(processors)).toEqual(expect.arrayContaining(known));
  expect(known).toEqual(
    expect.arrayContaining(namesOf(processors.filter((processor) => processor.stats().submitted > 0))),
  );
});

test('a processor whose time to close is up gives back what it has not run, and others run it without a lease in between', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const signals: AbortSignal[] = [];
  const stuck = queue.processor({ maxBatchSize: 20, leaseMs: 1_000_000 }, async (items, { signal }) => {
    signals.push(signal);
    await gate.passed;
    return answers(items);
  });
  const load = queue.load();
  const requests = Array.from({ length: 40 }, () => load.request());
  await eventually('some to be running', () => queue.executions.size > 0);
  const held = await queue.inspector.pending();
  await stuck.close({ timeoutMs: 20 });
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  // When it says that it is closed, they are given back.
  expect(await queue.inspector.lapsed(999_999)).toBe(held);

  const other = queue.processor({ maxBatchSize: 20, leaseMs: 1_000_000 });
  await Promise.all(requests);
  gate.open();
  expect(queue.ledger.outcomes).toEqual({ answered: 40 });
  expect(other.stats().takenOver).toBe(held);
  expect(await queue.inspector.deadLetters()).toBe(0);
  await other.close();
  // What is given back was never delivered: often enough, and it would be dead.
  expect(await queue.inspector.consumers()).toEqual([stuck.consumer]);
});

test('an item that was given back time and again is not dead', async () => {
  const queue = await newQueue();
  const load = queue.load();
  const request = load.request();
  for (let round = 1; round <= 5; round += 1) {
    const stuck = queue.processor({ maxDeliveries: 2 }, () => new Promise<never>(() => {}));
    await eventually('it to be running', () => queue.executions.size === 1);
    queue.executions.clear();
    await stuck.close({ timeoutMs: 1 });
  }
  queue.processor({ maxDeliveries: 2 });
  await request;
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
});

test('a processor that is destroyed while it closes ends at once', async () => {
  const queue = await newQueue();
  const stuck = queue.processor({}, () => new Promise<never>(() => {}));
  const load = queue.load();
  const request = load.request();
  await eventually('it to be running', () => queue.executions.size === 1);
  const closed = stuck.close();
  stuck.destroy();
  await closed;
  queue.executions.clear();
  queue.processor();
  await request;
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
});

test('clients and processors end while Redis is away', async () => {
  const proxy = await forThisTest(startCutProxy(redis.port));
  const queue = await forThisTest(new TestQueue(proxy.url));
  const processors = [queue.processor(), queue.processor(), queue.processor()];
  const client = queue.client();
  const load = new Load(client, queue.ledger);
  await load.request();
  await Promise.all(processors.map(({ ready }) => ready));
  await proxy.refuse(true);
  proxy.cut();
  const request = load.request();
  await Promise.all([
    client.close({ timeoutMs: 50 }),
    request,
    ...processors.map((processor) => processor.close({ timeoutMs: 50 })),
  ]);
  expect(queue.ledger.outcomes).toEqual({ answered: 1, CLOSED: 1 });
  const another = queue.processor();
  another.destroy();
  await another.close();
});

// The next ones came to a batcher that was closed already, and their callers were told so.
test('a processor that closes takes over no more: what is left goes to the next one, not back to its caller as CLOSED', async () => {
  const queue = await newQueue();
  const first = queue.processor();
  await first.ready;
  await first.close();
  const load = queue.load();
  const requests = Array.from({ length: 20 }, () => load.request());
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 20);
  await queue.inspector.takeAsIfDead('dead', 20);
  await queue.inspector.letLapse('dead');

  const gate = new Gate();
  // One by one: there are always some left.
  const closing = queue.processor({ maxBatchSize: 1 }, async (items) => {
    await gate.passed;
    return answers(items);
  });
  await eventually('it to have taken over the first', () => closing.stats().takenOver === 1);
  const closed = closing.close();
  gate.open();
  await closed;
  queue.processor();
  await Promise.all(requests);
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.ledger.outcomes).toEqual({ answered: 20 });
  expect(queue.executedAgain()).toEqual([]);
});

test('processors that were killed are forgotten, once what they held was taken over', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const alive = queue.processor({ leaseMs: 400, maxBatchSize: 4 }, async (items) => {
    await gate.passed; // leaves the rest to the others while they live
    return answers(items);
  });
  await alive.ready;
  const options = { url: redis.url, queue: queue.queue, leaseMs: 400, workMs: 10, maxBatchSize: 4 };
  const dying = [await startProcessor(options), await startProcessor(options)];
  const load = queue.load();
  const requests = Array.from({ length: 300 }, () => load.request());
  for (const { consumer } of dying) {
    await eventually('it to be known', async () => (await queue.inspector.consumers()).includes(consumer));
  }
  await Promise.all(dying.map(({ child }) => child.kill()));
  gate.open();
  await Promise.all(requests);
  expect(queue.ledger.outcomes).toEqual({ answered: 300 });
  await eventually(
    'only the living to be known',
    async () => (await queue.inspector.consumers()).join() === alive.consumer,
  );
  await eventually('only the living to be listed', async () => {
    const listed = (await queue.inspector.send('HKEYS', queue.inspector.keys.processors)) as string[];
    return listed.join() === alive.consumer;
  });
});
