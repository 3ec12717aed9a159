import { BatchwiseError, VirtualClock } from 'batchwise';
import { beforeEach, expect, test } from 'vitest';
import { createFunctionRunner, type Runner } from '../../src/index.js';
import { answered, failed, type Outcome } from '../../src/upstream/outcome.js';
import { UpstreamBackends } from '../../src/upstream/upstream-backends.js';
import { UpstreamFunction } from '../../src/upstream/upstream-function.js';
import type { FunctionPeer, PeerBatch } from '../../src/upstream/upstream-peer.js';
import { enqueue } from '../support/runner-outcome.js';
import { settingsWith } from '../support/settings.js';

/** Returns the items, unless the test sets another behaviour. */
class Echo implements FunctionPeer {
  readonly place = 'http://gpu/m:predict';
  readonly batches: PeerBatch[] = [];
  answer: (batch: PeerBatch) => Outcome<undefined> = ({ items, context }) => {
    for (const [index, item] of items.entries()) context.answer(index, item);
    return answered(undefined);
  };

  async run(batch: PeerBatch): Promise<Outcome<undefined>> {
    this.batches.push(batch);
    return this.answer(batch);
  }

  async close(): Promise<void> {}
}

let clock: VirtualClock;
let peer: Echo;
const settings = settingsWith({ batching: { maxBatchSize: 64 }, timeoutMs: 300 });

beforeEach(() => {
  clock = new VirtualClock();
  peer = new Echo();
});

async function runnerOf(): Promise<Runner> {
  const { upstream, timeoutMs, concurrency } = settings;
  const peers = { peers: [peer], settings: upstream, concurrency };
  const backends = new UpstreamBackends<FunctionPeer>({ name: 'f', ...peers, clock });
  const options = { name: 'f', backends, timeoutMs, platform: 'fake', isRepeatable: true, clock };
  const backend = new UpstreamFunction(options);
  const runner = createFunctionRunner({
    name: 'f',
    handler: backend.handler,
    backend,
    isolate: true,
    settings,
    clock,
  });
  await runner.ready;
  return runner;
}

async function submitAll(runner: Runner, items: readonly unknown[]) {
  const outcomes = items.map((item) => enqueue(runner, item));
  await clock.advance(1);
  return outcomes;
}
const numbers = Array.from({ length: 64 }, (_, i) => i);

test('bisecting stops for an upstream that always fails', async () => {
  // Root cause: only models limited faults. A function that was down got two calls per item, batch after batch.
  peer.answer = () => failed(new Error('out of memory'));
  const outcomes = await submitAll(await runnerOf(), numbers);
  expect(outcomes.every(({ error }) => error?.code === 'HANDLER_FAILED')).toBe(true);
  expect(outcomes.at(-1)?.error?.message).toBe('f: the upstream: out of memory');
  expect(peer.batches.length).toBeLessThan(30);
});

test('INVALID_ITEM of the upstream is always bisected', async () => {
  peer.answer = () => failed(new BatchwiseError('INVALID_ITEM', 'no'));
  const outcomes = await submitAll(await runnerOf(), numbers);
  expect(outcomes.every(({ error }) => error?.code === 'INVALID_ITEM')).toBe(true);
  expect(peer.batches.at(-1)?.items).toHaveLength(1);
});

test('bisecting finds one faulty item of many', async () => {
  const well = peer.answer;
  peer.answer = (batch) => (batch.items.includes(9) ? failed(new Error('nine')) : well(batch));
  const outcomes = await submitAll(await runnerOf(), numbers);
  expect(outcomes.filter(({ error }) => error !== undefined)).toEqual([outcomes[9]]);
});

test('a timeout changed at run time applies to the next call', async () => {
  // Root cause: the timeout of the first settings was kept.
  const runner = await runnerOf();
  await submitAll(runner, [1]);
  runner.configure({ ...settings, timeoutMs: 3000 });
  await submitAll(runner, [2]);
  expect(peer.batches.map(({ timeoutMs }) => timeoutMs)).toEqual([300, 3000]);
});
