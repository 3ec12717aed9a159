/** One batch as one stream: answers, errors, cancellation, deadlines, retries and backpressure. */
import { STATUS } from '@batchwise/grpc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FakeCaller } from './fakes/fake-caller.js';
import { FakeStage } from './fakes/fake-stage.js';

const statuses = (callers: readonly FakeCaller[]) =>
  callers.map(({ outcomes }) => outcomes.map(({ status }) => status));
const texts = (callers: readonly FakeCaller[]) => callers.map(({ outcome }) => outcome?.text);

async function batchOf(messages: readonly string[], stage = new FakeStage()) {
  const callers = messages.map((message) => stage.calls(message));
  await stage.settle();
  return { stage, callers, stream: stage.stream };
}

describe('a batch', () => {
  it('is sent as one stream of the batched method', async () => {
    const { stream } = await batchOf(['a', 'b', 'c']);
    expect(stream.path).toBe('/pkg.Service/BatchedCompute');
    expect(stream.texts).toEqual(['a', 'b', 'c']);
    expect(stream.hasHalfClosed).toBe(true);
  });

  it('completes each caller when its answer arrives', async () => {
    const { stream, callers } = await batchOf(['a', 'b']);
    stream.answers('A');
    expect(texts(callers)).toEqual(['A', undefined]);
    stream.answers('B');
    expect(texts(callers)).toEqual(['A', 'B']);
  });

  it('passes metadata and encoding of the backend to each caller, but not its item errors', async () => {
    const { stream, callers } = await batchOf(['a', 'b']);
    stream.sendsHeaders({ 'x-model': '7', 'grpc-encoding': 'gzip', 'content-type': 'x' });
    stream.echoes();
    for (const { outcome } of callers)
      expect(outcome?.headers).toEqual({ 'x-model': '7', 'grpc-encoding': 'gzip' });
  });

  it('with too few answers fails the rest with INTERNAL and the number of answers', async () => {
    const { stream, callers } = await batchOf(['a', 'b', 'c']);
    stream.answers('A');
    stream.ends(STATUS.OK);
    expect(statuses(callers)).toEqual([[0], [STATUS.INTERNAL], [STATUS.INTERNAL]]);
    expect(callers[1]?.outcome?.error?.message).toMatch(/^the backend ended .*expected 3 answers.*got 1$/);
  });

  it('that ends with an error fails the rest with its details and trailers', async () => {
    const { stream, callers } = await batchOf(['a', 'b']);
    stream.answers('A');
    stream.ends(STATUS.FAILED_PRECONDITION, {
      message: 'no model',
      trailers: { 'grpc-status': '9', 'grpc-status-details-bin': 'AAA=', 'x-why': 'because' },
    });
    expect(statuses(callers)).toEqual([[0], [STATUS.FAILED_PRECONDITION]]);
    const error = callers[1]?.outcome?.error;
    expect(error?.message).toBe('no model');
    expect(error?.trailers).toEqual({ 'grpc-status-details-bin': 'AAA=', 'x-why': 'because' });
  });

  it('names the batched method if the backend does not serve it', async () => {
    const { stream, callers } = await batchOf(['a']);
    stream.ends(STATUS.UNIMPLEMENTED, { message: 'unknown method', trailers: { 'grpc-status': '12' } });
    expect(callers[0]?.outcome?.error?.message).toBe(
      'the backend does not serve /pkg.Service/BatchedCompute, the batched method of /pkg.Service/Compute: unknown method',
    );
  });

  // Root cause: the slot was released at once, and the backend computed cancelled batches in addition to later ones.
  it('keeps its slot for the expected service time when all callers have cancelled', async () => {
    const { stage, stream } = await batchOf(['learned']);
    await stage.clock.advance(20);
    stream.echoes();
    const cancelled = stage.calls('cancelled');
    await stage.clock.advance(4);
    cancelled.cancels();
    expect(stage.open).toEqual([]);
    stage.calls('next');
    await stage.clock.advance(15);
    expect(stage.open).toEqual([]);
    await stage.clock.advance(1);
    expect(stage.stream.texts).toEqual(['next']);
  });

  it('ignores surplus answers and logs them once', async () => {
    const { stage, stream, callers } = await batchOf(['a']);
    stream.answers('A', 'B', 'C');
    stream.ends(STATUS.OK);
    expect(statuses(callers)).toEqual([[0]]);
    expect(stage.log.filter((line) => line.includes('surplus'))).toEqual([
      'backend a:1 sent 3 answers for 1 items of /pkg.Service/BatchedCompute; the surplus is ignored',
    ]);
  });

  it('fails single items without shifting the answers of the others', async () => {
    const { stream, callers } = await batchOf(['a', 'b', 'c']);
    stream.sendsHeaders({ 'batchwise-item-error': '1 3 too%20long' });
    expect(statuses(callers)).toEqual([[], [STATUS.INVALID_ARGUMENT], []]);
    expect(callers[1]?.outcome?.error?.message).toBe('too long');
    stream.answers('A', '', 'C');
    expect(texts(callers)).toEqual(['A', '', 'C']);
    expect(callers[0]?.outcome?.headers).toEqual({});
  });
});

describe('the slot of a batch', () => {
  it('is released after the last answer, before the stream ends', async () => {
    const stage = new FakeStage({ method: { maxBatchSize: 1 } });
    stage.calls('a');
    stage.calls('b');
    await stage.settle();
    const first = stage.stream;
    first.answers('A');
    await stage.settle();
    expect(stage.open.map(({ texts: sent }) => sent)).toEqual([['a'], ['b']]);
    expect(first.isCancelled).toBe(false);
  });

  it('a stream that does not end is reset after a timeout', async () => {
    const stage = new FakeStage();
    stage.calls('a');
    await stage.settle();
    const { stream } = stage;
    stream.answers('A');
    await stage.clock.advance(4999);
    expect(stream.isCancelled).toBe(false);
    await stage.clock.advance(5000);
    expect(stream.isCancelled).toBe(true);
    expect(stage.openStreamEnds.size).toBe(0);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it('a stream that ended is not reset', async () => {
    const { stage, stream } = await batchOf(['a']);
    stream.echoes();
    expect(stage.openStreamEnds.size).toBe(0);
    await stage.clock.advance(20_000);
    expect(stream.isCancelled).toBe(false);
  });

  it('is released after a failure', async () => {
    const { stage, stream } = await batchOf(['a']);
    stream.ends(STATUS.INTERNAL, { trailers: { 'grpc-status': '13' } });
    await stage.settle();
    stage.calls('b');
    await stage.settle();
    expect(stage.stream.texts).toEqual(['b']);
  });
});

describe('a caller that cancels', () => {
  it('while queued is not sent', async () => {
    const stage = new FakeStage({ method: { maxWaitMs: 10 } });
    stage.calls('a').cancels();
    const other = stage.calls('b');
    await stage.clock.advance(10);
    expect(stage.stream.texts).toEqual(['b']);
    stage.stream.echoes();
    expect(other.outcome?.text).toBe('B');
    expect(stage.queueBytes.used).toBe(0);
  });

  it('during its batch does not affect the others', async () => {
    const { stage, stream, callers } = await batchOf(['a', 'b']);
    callers[0]?.cancels();
    expect(stream.isCancelled).toBe(false);
    stream.echoes();
    expect(texts(callers)).toEqual([undefined, 'B']);
    expect(stage.ended.map(([, status]) => status).sort()).toEqual([STATUS.OK, STATUS.CANCELLED]);
  });

  it('is not counted twice if its answer still arrives', async () => {
    const { stream, callers } = await batchOf(['a', 'b', 'c']);
    callers[0]?.cancels();
    stream.answers('A');
    callers[1]?.cancels();
    expect(stream.isCancelled).toBe(false);
    stream.answers('B', 'C');
    expect(texts(callers)).toEqual([undefined, undefined, 'C']);
  });

  it('resets the stream if it was the last of its batch', async () => {
    const { stage, stream, callers } = await batchOf(['a', 'b', 'c']);
    stream.answers('A');
    callers[1]?.cancels();
    expect(stream.isCancelled).toBe(false);
    callers[2]?.cancels();
    expect(stream.isCancelled).toBe(true);
    stage.calls('next');
    await stage.settle();
    expect(stage.stream.texts).toEqual(['next']);
  });

  it('while its batch is queued for a slot is not sent', async () => {
    const stage = new FakeStage();
    stage.calls('first');
    await stage.settle();
    const first = stage.stream;
    // Draining dispatches batches while all backends are busy.
    const second = stage.calls('second', { path: '/pkg.Other/Compute' });
    const third = stage.calls('third', { path: '/pkg.Other/Compute' });
    void stage.methods.close();
    await stage.settle();
    second.cancels();
    first.echoes();
    await stage.settle();
    expect(stage.stream.texts).toEqual(['third']);
    stage.stream.echoes();
    expect(third.outcome?.text).toBe('THIRD');
  });
});

describe('the deadline of a batch', () => {
  const deadlineOf = async (...timeouts: (number | undefined)[]) => {
    const stage = new FakeStage({ method: { maxWaitMs: 10 } });
    for (const timeoutMs of timeouts) stage.calls('x', timeoutMs === undefined ? {} : { timeoutMs });
    await stage.clock.advance(10);
    return stage.stream.options.timeoutMs;
  };

  it('is the latest deadline of its callers, minus their queue wait', async () => {
    expect(await deadlineOf(100, 300, 200)).toBe(290);
  });

  it('is missing if one caller has none', async () => {
    expect(await deadlineOf(100, undefined)).toBeUndefined();
  });

  it('exceeded in the queue fails the call at once, and it is not sent', async () => {
    const stage = new FakeStage({ method: { maxWaitMs: 100 } });
    const late = stage.calls('late', { timeoutMs: 50 });
    const other = stage.calls('other');
    await stage.clock.advance(50);
    expect(late.outcome?.status).toBe(STATUS.DEADLINE_EXCEEDED);
    await stage.clock.advance(50);
    expect(stage.stream.texts).toEqual(['other']);
    expect(other.outcomes).toEqual([]);
  });

  it('includes the time to receive the message', async () => {
    const stage = new FakeStage({ method: { maxWaitMs: 1000 } });
    const caller = stage.caller({ timeoutMs: 50 });
    await stage.clock.advance(40);
    caller.sends('x');
    await stage.clock.advance(10);
    expect(caller.outcome?.status).toBe(STATUS.DEADLINE_EXCEEDED);
  });
});

describe('a batch that no backend has started', () => {
  const unseen = { isUnseen: true, message: 'refused' };

  it('is retried on another backend', async () => {
    const stage = new FakeStage({ targets: ['a:1', 'b:1'] });
    const caller = stage.calls('x');
    await stage.settle();
    const first = stage.stream;
    const other = stage.channel(stage.channel('a:1').calls.length > 0 ? 'b:1' : 'a:1');
    first.ends(STATUS.UNAVAILABLE, unseen);
    await stage.settle();
    expect(other.open.map(({ texts: sent }) => sent)).toEqual([['x']]);
    other.open[0]?.echoes();
    expect(caller.outcome?.text).toBe('X');
  });

  it('is retried on the same backend if there is no other, and only once', async () => {
    const { stage, callers } = await batchOf(['x']);
    stage.stream.ends(STATUS.UNAVAILABLE, unseen);
    await stage.settle();
    stage.stream.ends(STATUS.UNAVAILABLE, unseen);
    await stage.settle();
    expect(stage.open).toEqual([]);
    expect(statuses(callers)).toEqual([[STATUS.UNAVAILABLE]]);
  });

  it('is not retried after a first answer', async () => {
    const { stage, stream, callers } = await batchOf(['a', 'b']);
    stream.answers('A');
    stream.ends(STATUS.UNAVAILABLE, unseen);
    await stage.settle();
    expect(stage.open).toEqual([]);
    expect(statuses(callers)).toEqual([[0], [STATUS.UNAVAILABLE]]);
  });

  it('is retried without its cancelled items', async () => {
    const { stage, callers } = await batchOf(['a', 'b', 'c']);
    callers[1]?.cancels();
    stage.stream.ends(STATUS.UNAVAILABLE, unseen);
    await stage.settle();
    expect(stage.stream.texts).toEqual(['a', 'c']);
    stage.stream.echoes();
    expect(texts(callers)).toEqual(['A', undefined, 'C']);
  });
});

it('a stream with backpressure gets the rest of the batch when it drains', async () => {
  const stage = new FakeStage({ method: { maxWaitMs: 1 } });
  const large = 'x'.repeat(40_000);
  for (let i = 0; i < 3; i++) stage.calls(large);
  const { call } = stage.channel();
  stage.channel().call = (...args) => Object.assign(call.apply(stage.channel(), args), { hasRoom: false });
  await stage.clock.advance(1);
  const { stream } = stage;
  expect(stream.writes).toBe(1);
  expect(stream.hasHalfClosed).toBe(false);
  stream.drains();
  expect(stream.texts).toEqual([large, large, large]);
  expect(stream.hasHalfClosed).toBe(true);
});

it('small messages are joined into one write', async () => {
  const { stream } = await batchOf(Array.from({ length: 50 }, (_, i) => `message ${i}`));
  expect(stream.texts).toHaveLength(50);
  expect(stream.writes).toBe(1);
});

it('every caller gets exactly one answer for any order of events', async () => {
  const event = fc.oneof(
    fc.record({ do: fc.constant('call' as const), timeoutMs: fc.option(fc.integer({ min: 1, max: 50 })) }),
    fc.record({ do: fc.constant('cancel' as const), index: fc.nat(30) }),
    fc.record({ do: fc.constant('answer' as const), count: fc.integer({ min: 1, max: 5 }) }),
    fc.record({
      do: fc.constant('end' as const),
      status: fc.constantFrom(0, 8, 13, 14),
      isUnseen: fc.boolean(),
    }),
    fc.record({ do: fc.constant('item error' as const), place: fc.nat(4) }),
    fc.record({ do: fc.constant('state' as const), state: fc.constantFrom('ready', 'failing', 'idle') }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 20 }) }),
  );
  const property = fc.asyncProperty(
    fc.array(event, { maxLength: 40 }),
    fc.option(fc.integer({ min: 0, max: 10 }), { nil: undefined }),
    async (events, maxWaitMs) => {
      const stage = new FakeStage({
        targets: ['a:1', 'b:1'],
        method: { maxBatchSize: 4, maxWaitMs },
        ejection: { failures: 2, durationMs: 10 },
      });
      const callers: FakeCaller[] = [];
      const cancelled = new Set<FakeCaller>();
      for (const [i, step] of events.entries()) {
        const stream = stage.open[i % Math.max(1, stage.open.length)];
        const channel = stage.channel(i % 2 === 0 ? 'a:1' : 'b:1');
        if (step.do === 'call') {
          callers.push(stage.calls(`${i}`, step.timeoutMs === null ? {} : { timeoutMs: step.timeoutMs }));
        } else if (step.do === 'cancel') {
          const caller = callers[step.index];
          if (caller !== undefined && caller.outcomes.length === 0 && !cancelled.has(caller)) {
            cancelled.add(caller);
            caller.cancels();
          }
        } else if (step.do === 'answer') stream?.answers(...Array.from({ length: step.count }, () => 'x'));
        else if (step.do === 'end') stream?.ends(step.status, { isUnseen: step.isUnseen });
        else if (step.do === 'item error')
          stream?.sendsHeaders({ 'batchwise-item-error': `${step.place} 3 no` });
        else if (step.do === 'state') channel.become(step.state as 'ready', new Error('lost'));
        else await stage.clock.advance(step.ms);
        if (i % 3 === 0) await stage.settle();
      }
      stage.methods.destroy();
      stage.pool.destroy();
      await stage.clock.advance(1000); // batches without callers keep their slots for a while
      for (const caller of callers) expect(caller.outcomes).toHaveLength(cancelled.has(caller) ? 0 : 1);
      expect(stage.ended).toHaveLength(callers.length);
      expect(stage.queueBytes.used).toBe(0);
      expect(stage.pool.set.stats().map(({ running }) => running)).toEqual([0, 0]);
    },
  );
  await fc.assert(property, { numRuns: 300 });
});
