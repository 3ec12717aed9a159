/** What is promised when something breaks on the way: connections, clients, Redis' memory of things. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadScript } from '../../src/connection/script.js';
import { AnswerWatch } from '../chaos/answer-watch.js';
import { Gate } from '../chaos/gate.js';
import type { ChaosItem } from '../chaos/load.js';
import { startProcessor, startWeb } from '../chaos/start-program.js';
import { TestQueue } from '../chaos/test-queue.js';
import { type CutProxy, startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const sha = (script: string) => loadScript(script).sha1;

async function queueBehindProxy(name?: string): Promise<{ proxy: CutProxy; queue: TestQueue }> {
  const proxy = await forThisTest(startCutProxy(redis.port));
  return { proxy, queue: await forThisTest(new TestQueue(proxy.url, name)) };
}

/** Scripts are known to Redis from here on, and are called by their digest. */
async function warmUp(queue: TestQueue): Promise<void> {
  const load = queue.load();
  await load.request();
  expect(queue.ledger.audit()).toEqual([]);
}

test('a connection that is cut while Redis is looked at does not make a client or a processor useless', async () => {
  const { proxy, queue } = await queueBehindProxy();
  for (const start of [() => queue.client(), () => queue.processor()]) {
    const cut = proxy.cutAfterWrite('INFO');
    const started = start();
    await cut;
    await started.ready;
  }
  await queue.load().request();
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
});

test('items whose fetch was cut off after it was carried out are run at once, and once', async () => {
  const { proxy, queue } = await queueBehindProxy();
  // A lease that does not end within the test: what was fetched and is not known here would wait for it.
  const processor = queue.processor({ leaseMs: 1_000_000, maxBatchSize: 4 });
  await warmUp(queue);
  const load = queue.load();
  for (let round = 1; round <= 5; round += 1) {
    const cut = proxy.cutAfterWrite('XREADGROUP');
    const requests = Array.from({ length: 20 }, () => load.request());
    await cut;
    await Promise.all(requests);
  }
  expect(queue.ledger.outcomes).toEqual({ answered: 101 });
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.executedAgain()).toEqual([]);
  expect(processor.stats().takenOver).toBe(0);
});

test('items whose take-over was cut off after it was carried out are run, and not counted as delivered again', async () => {
  const { proxy, queue } = await queueBehindProxy();
  const first = queue.processor();
  await warmUp(queue);
  await first.close();
  const load = queue.load();
  const requests = Array.from({ length: 3 }, () => load.request());
  await eventually('the items to be there', async () => (await queue.inspector.outstanding()) === 3);
  await queue.inspector.takeAsIfDead('dead', 3);
  await queue.inspector.letLapse('dead');

  const cut = proxy.cutAfterWrite(sha('reclaim'));
  const processor = queue.processor({ leaseMs: 1_000_000, maxDeliveries: 2 });
  await cut;
  await Promise.all(requests);
  expect(queue.ledger.outcomes).toEqual({ answered: 4 });
  expect(queue.executedAgain()).toEqual([]);
  await processor.close();
  expect(await queue.inspector.deadLetters()).toBe(0);
});

test('answers are written once, though their reply was cut off', async () => {
  const { proxy, queue } = await queueBehindProxy();
  const watch = await forThisTest(AnswerWatch.start(redis.port));
  const processor = queue.processor({ leaseMs: 1_000_000 });
  await warmUp(queue);
  const load = queue.load();
  for (let round = 1; round <= 10; round += 1) {
    const cut = proxy.cutAfterWrite(sha('answer'));
    const requests = Array.from({ length: 5 }, () => load.request());
    await cut;
    await Promise.all(requests);
    await eventually('the processor to know', () => processor.stats().held === 0);
  }
  expect(queue.ledger.outcomes).toEqual({ answered: 51 });
  expect(await watch.audit(51)).toEqual([]);
  expect(queue.executedAgain()).toEqual([]);
});

test('a submission that was overtaken by a later one is not carried out', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const { keys } = queue.inspector;
  const submit = (number: number) =>
    queue.inspector.send(
      ...['EVAL', loadScript('submit').source, '6', ...keys.requests, `${keys.clients}c`, `${keys.replies}c`],
      ...[keys.rate, String(number), '60000', '100', '', '0', '1', '0', `c ${number} 0`, '{}'],
    );
  await submit(1);
  await submit(2);
  // It was on a connection that the client had given up, and came the long way.
  await expect(submit(1)).rejects.toThrow('OVERTAKEN');
  expect(await queue.inspector.outstanding()).toBe(2);
  // And the one that it was overtaken by is still known.
  await submit(2);
  expect(await queue.inspector.outstanding()).toBe(2);
});

/** An item of each level, running, and all three with the same id: of one submission, if it took less than what was left of a millisecond. */
async function threeWithOneId() {
  const queue = await forThisTest(new TestQueue(redis.url));
  const gate = new Gate();
  const processor = queue.processor({ leaseMs: 1_000_000, concurrency: 3 }, async (items) => {
    await gate.passed;
    return items.map(({ id }) => ({ id }));
  });
  await processor.ready;
  // One submission: the first of each level is at the same millisecond, as number 0.
  const load = queue.load();
  const requests = [load.request({ priority: 1 }), load.request(), load.request({ priority: -1 })];
  await eventually('all to be running', () => queue.executions.size === 3);
  const [high, normal, low] = queue.inspector.keys.requests;
  const ids = await Promise.all(
    [high, normal, low].map((stream) => queue.inspector.send('XRANGE', stream, '-', '+')),
  );
  if (new Set(ids.map((entries) => String((entries as [string][])[0]?.[0]))).size === 1) {
    const [[id]] = ids[1] as [[string]];
    return { queue, gate, processor, requests, normal, id };
  }
  gate.open();
  await Promise.all(requests);
  return undefined;
}

test('items of two levels with the same id are told apart when one of them was taken over', async () => {
  let three: Awaited<ReturnType<typeof threeWithOneId>>;
  while (three === undefined) three = await threeWithOneId();
  const { queue, gate, processor, requests, normal, id } = three;
  await queue.inspector.send('XCLAIM', normal, 'processors', 'other', '0', id);
  gate.open();
  await Promise.all([requests[0], requests[2]]);
  expect(queue.ledger.outcomes).toEqual({ answered: 2 });
  expect(processor.stats().fenced).toBe(1);
});

test('a FLUSHALL under load: processors go on, and callers with and without deadline are settled', async () => {
  const own = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(own.url));
  queue.processor({ leaseMs: 1000, maxBatchSize: 8, concurrency: 2 });
  const load = queue.load({ clientTtlMs: 1000 });
  await load.request();
  load.start(500, { timeoutMs: 5000 });
  for (let round = 1; round <= 3; round += 1) {
    const without = [load.request(), load.request(), load.request()];
    await own.cli('FLUSHALL');
    await Promise.all(without);
    const answered = queue.ledger.count('answered');
    await eventually('answers to go on', () => queue.ledger.count('answered') > answered + 100);
  }
  await load.stop();
  expect(queue.ledger.audit()).toEqual([]);
  const {
    answered = 0,
    UNAVAILABLE: lost = 0,
    DEADLINE_EXCEEDED: late = 0,
    ...others
  } = queue.ledger.outcomes;
  expect(others).toEqual({});
  // How many are lost or late depends on the machine.
  expect(answered + lost + late).toBe(load.count);
});

test('a processor whose queue was flushed while it ran a batch closes all the same', async () => {
  const own = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(own.url));
  const gate = new Gate();
  const processor = queue.processor({}, async (items) => {
    await gate.passed;
    return items.map(({ id }) => ({ id }));
  });
  const load = queue.load();
  void load.request({ timeoutMs: 1000 });
  await eventually('it to be running', () => queue.executions.size === 1);
  const closed = processor.close();
  await own.cli('FLUSHALL');
  gate.open();
  await closed;
  await load.stop();
  expect(queue.ledger.audit()).toEqual([]);
});

test('callers of a client that was paused for longer than its time to live are settled', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const web = await forThisTest(startWeb({ url: redis.url, queue: queue.queue, clientTtlMs: 4000 }));
  const { keys } = queue.inspector;
  const outcomes = () => web.said<{ event: 'settled'; id: number; outcome: string }>('settled');
  const client = keys.clients + web.clientId;
  const isGivenUp = async () => (await queue.inspector.send('EXISTS', client)) === 0;
  // As Redis does when it has heard nothing for that long.
  const giveUp = () => queue.inspector.send('DEL', client, keys.replies + web.clientId);
  const first = queue.processor();
  await first.ready;
  await first.close();

  web.child.send([{ item: { id: 1 } }]);
  await eventually('the item to be there', async () => (await queue.inspector.outstanding()) === 1);
  web.child.stop();
  await giveUp();
  const processor = queue.processor();
  await eventually('the item to be answered', async () => (await queue.inspector.outstanding()) === 0);
  // What it does first when it goes on is to submit: its heartbeat then finds it alive.
  web.child.send([{ item: { id: 2 } }]);
  web.child.cont();
  await eventually('both to be settled', () => outcomes().length === 2);
  expect(outcomes().find(({ id }) => id === 1)?.outcome).toBe('UNAVAILABLE');
  expect(outcomes().find(({ id }) => id === 2)?.outcome).toBe('answered');
  await processor.close();

  // What is still in the queue when it comes back has its answer.
  web.child.send([{ item: { id: 3 } }]);
  await eventually('the item to be there', async () => (await queue.inspector.outstanding()) === 1);
  web.child.stop();
  await giveUp();
  web.child.cont();
  await eventually('the client to be back', async () => !(await isGivenUp()));
  queue.processor();
  await eventually('it to be settled', () => outcomes().length === 3);
  expect(outcomes()[2]?.outcome).toBe('answered');
});

test('answers wait for a client as long as its time to live says', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const { keys } = queue.inspector;
  const web = await forThisTest(startWeb({ url: redis.url, queue: queue.queue, clientTtlMs: 600_000 }));
  web.child.send([{ item: { id: 1 } }]);
  await eventually('the item to be there', async () => (await queue.inspector.outstanding()) === 1);
  web.child.stop();
  queue.processor();
  const ttlMs = await eventually('the answer', async () => {
    const ttl = Number(await queue.inspector.send('PTTL', keys.replies + web.clientId));
    return ttl > 0 && ttl;
  });
  const clientTtlMs = Number(await queue.inspector.send('PTTL', keys.clients + web.clientId));
  expect(ttlMs).toBeGreaterThanOrEqual(clientTtlMs);
  web.child.cont();
  await web.child.until<{ event: string }>(({ event }) => event === 'settled');
});

// Nobody can renew while Redis is away: whoever was back first took over, and counted as delivered, what all others ran.
test('after an outage that was longer than a lease the first to be back does not take over what the others hold', async () => {
  const { proxy, queue } = await queueBehindProxy();
  const late = await queueBehindProxy(queue.queue);
  const outside = await forThisTest(new TestQueue(redis.url, queue.queue));
  const gate = new Gate();
  const options = { leaseMs: 4000, maxBatchSize: 1, maxDeliveries: 2 };
  const handler = async (items: ChaosItem[]) => {
    await gate.passed;
    return items.map(({ id }) => ({ id }));
  };
  const first = queue.processor(options, handler);
  const others = [late.queue.processor(options, handler), late.queue.processor(options, handler)];
  const load = outside.load();
  const requests = [load.request(), load.request(), load.request()];
  const running = () => queue.executions.size + late.queue.executions.size;
  await eventually('all to be running', () => running() === 3);

  for (const one of [proxy, late.proxy]) {
    await one.refuse(true);
    one.cut();
  }
  // Nobody has renewed for so long, the one that is back first included.
  for (const { consumer } of [first, ...others]) await outside.inspector.letLapse(consumer);
  await proxy.refuse(false);
  const { processors } = outside.inspector.keys;
  const lastBeat = async () => String(await outside.inspector.send('HGET', processors, first.consumer));
  for (let beat = 1; beat <= 2; beat += 1) {
    const before = await lastBeat();
    await eventually('a beat', async () => (await lastBeat()) !== before);
  }
  expect(await outside.inspector.lapsed(3000)).toBe(2);
  expect(first.stats().takenOver).toBe(0);

  await late.proxy.refuse(false);
  gate.open();
  await Promise.all(requests);
  expect(outside.ledger.outcomes).toEqual({ answered: 3 });
  expect(await outside.inspector.deadLetters()).toBe(0);
});

// Its first beat after the pause renewed what it knew of, and then took over from itself what was only just being read.
test('a lone processor that stood still past its lease runs what had come meanwhile once, and answers it', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const options = { url: redis.url, queue: queue.queue, leaseMs: 300, maxDeliveries: 2, workMs: 20 };
  const { child, said, consumer } = await forThisTest(startProcessor(options));
  const load = queue.load();
  await load.request();
  for (let round = 1; round <= 3; round += 1) {
    // It answers first and reads on after that.
    await eventually('it to read', async () => (await queue.inspector.waitingReads()) === 1);
    child.stop();
    const requests = [load.request(), load.request(), load.request()];
    await eventually('them to be its own', async () => (await queue.inspector.pending(consumer)) === 3);
    await eventually('their lease to be over', async () => (await queue.inspector.lapsed(300)) === 3);
    child.cont();
    await Promise.all(requests);
  }
  expect(queue.ledger.outcomes).toEqual({ answered: 10 });
  const ran = said<{ event: 'ran'; ids: number[] }>('ran').flatMap(({ ids }) => ids);
  expect(ran.sort((a, b) => a - b)).toEqual([...new Set(ran)]);
  expect(ran).toHaveLength(10);
  expect(await queue.inspector.deadLetters()).toBe(0);
});

// What was taken over from itself was on its way to it all the same, and was run again when it came.
test('what a processor takes over from itself is not run again when the read brings it', async () => {
  const { proxy, queue } = await queueBehindProxy();
  const outside = await forThisTest(new TestQueue(redis.url, queue.queue));
  proxy.holdAnswersTo('XREADGROUP');
  const processor = queue.processor({ leaseMs: 400, maxDeliveries: 2 });
  await processor.ready;
  const load = outside.load();
  await Promise.all([load.request(), load.request()]);
  expect(processor.stats().takenOver).toBe(2);
  proxy.resume();
  await load.request();
  expect(outside.ledger.outcomes).toEqual({ answered: 3 });
  expect(queue.executedAgain()).toEqual([]);
  expect(processor.stats().fenced).toBe(0);
});

test('processors that all stood still past their lease, as on a machine that slept, do not take over from each other', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const options = {
    url: redis.url,
    queue: queue.queue,
    leaseMs: 1200,
    maxBatchSize: 1,
    maxDeliveries: 1,
    // They are stopped long before it is over, and there is less of it left then than a lease.
    workMs: 2000,
  };
  const programs = await Promise.all([1, 2, 3].map(() => forThisTest(startProcessor(options))));
  const load = queue.load();
  const requests = [load.request(), load.request(), load.request()];
  await eventually('all to be held', async () => (await queue.inspector.pending()) === 3);
  for (const { child } of programs) child.stop();
  await eventually('all leases to be over', async () => (await queue.inspector.lapsed(1200)) === 3);
  for (const { child } of programs) child.cont();
  await Promise.all(requests);
  expect(queue.ledger.outcomes).toEqual({ answered: 3 });
  expect(programs.flatMap(({ said }) => said('taken-over'))).toEqual([]);
});
