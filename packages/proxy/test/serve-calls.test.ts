/** A batch in `serveBatched()`: execution, answers, rejection and cancellation. */
import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { double, FakeCall, serve, until } from './support/batched-calls.js';

describe('a stream', () => {
  test('is one batch, answered in order, with a hook call for each step', async () => {
    const { call, events } = serve(double as never);
    call.send(1, 2, 3);
    await until(() => call.status !== undefined);
    expect(call.written).toEqual([2, 4, 6]);
    expect(call.status).toEqual({ code: 0, details: '' });
    expect(events).toEqual(['item 1', 'item 2', 'item 3', 'execute 3', 'finish 0 3 0']);
  });

  test('without items is answered without running the method', async () => {
    let runs = 0;
    const { call } = serve(() => {
      runs += 1;
      return [];
    });
    call.send();
    await until(() => call.status !== undefined);
    expect({ status: call.status?.code, runs }).toEqual({ status: 0, runs: 0 });
  });

  test('is not run before the half-close', async () => {
    const { call, events } = serve(double as never);
    call.push(1);
    await until(() => events.length > 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual(['item 1']);
    call.destroy();
  });

  const failures: [string, (items: never[]) => unknown, number, RegExp][] = [
    [
      'throws',
      () => {
        throw new Error('out of memory');
      },
      13,
      /out of memory/,
    ],
    [
      'rejects',
      async () => {
        throw new Error('out of memory');
      },
      13,
      /out of memory/,
    ],
    [
      'throws a string',
      () => {
        throw 'nothing to say';
      },
      13,
      /nothing to say/,
    ],
    [
      'throws undefined',
      () => {
        throw undefined;
      },
      13,
      /^Expected an Error, got undefined\.$/,
    ],
    [
      'throws something without a message',
      () => {
        throw Object.create(null);
      },
      13,
      /^Expected an Error, got an object without a message\.$/,
    ],
    [
      'throws a status',
      () => {
        throw Object.assign(new Error('x'), { code: 14, details: 'loading' });
      },
      14,
      /^loading$/,
    ],
    [
      'returns too few',
      () => [1],
      13,
      /"compute" was expected to return 2 results, one per item, and returned 1/,
    ],
    ['returns too many', () => [1, 2, 3], 13, /returned 3/],
    ['returns no array', () => 'ab', 13, /an array of 2 results, and returned string/],
    ['returns nothing', () => undefined, 13, /and returned undefined/],
  ];

  test.each(failures)('whose method %s ends with one status', async (_, compute, code, details) => {
    const { call, events } = serve(compute);
    call.send(1, 2);
    await until(() => call.status !== undefined);
    expect(call.status).toEqual({ code, details: expect.stringMatching(details) });
    expect(call.written).toEqual([]);
    expect(call.ends).toBe(1);
    call.cancel(); // grpc-js emits 'cancelled' after every end
    expect(events.slice(-1)).toEqual([`finish ${code} 2 0`]);
  });

  test('is answered by its item count even if the method modifies the items', async () => {
    const { call, events } = serve((items) => items.splice(0).map(() => 'x'));
    call.send(1, 2);
    await until(() => call.status !== undefined);
    expect(call.written).toEqual(['x', 'x']);
    expect(events.slice(-1)).toEqual(['finish 0 2 0']);
  });

  test.each([
    ['items', { maxItems: 2 }, /more than 2 items/],
    ['bytes', { maxBytes: 2 }, /more than 2 bytes/],
    ['bytes according to bytesOf', { maxBytes: 9, bytesOf: () => 4 }, /more than 9 bytes/],
  ])('with too many %s is rejected before its end without running the method', async (_, limits, details) => {
    let runs = 0;
    const { call } = serve(() => {
      runs += 1;
    }, limits);
    for (const item of [1, 2, 3]) call.push(item);
    await until(() => call.status !== undefined);
    call.push(4);
    call.push(null);
    await until(() => call.readableEnded);
    expect(call.status).toEqual({ code: 8, details: expect.stringMatching(details) });
    expect({ runs, ends: call.ends, errors: call.errors }).toEqual({ runs: 0, ends: 1, errors: 1 });
  });

  test('that is cancelled aborts the signal of the method and is not answered', async () => {
    let finish = (_: unknown) => {};
    let signal: AbortSignal | undefined;
    const { call, events } = serve((_, context) => {
      signal = context.signal;
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    call.send(1);
    await until(() => signal !== undefined);
    expect(signal?.aborted).toBe(false);
    call.cancel();
    expect(signal?.reason).toMatchObject({ code: 'CANCELLED' });
    finish([2]);
    await new Promise((resolve) => setImmediate(resolve));
    expect({ written: call.written, events }).toEqual({
      written: [],
      events: ['item 1', 'execute 1', 'cancel'],
    });
  });

  test('whose method exceeds handlerTimeoutMs ends with DEADLINE_EXCEEDED and aborts the signal', async () => {
    const clock = new VirtualClock();
    let signal: AbortSignal | undefined;
    const { call, events } = serve(
      (_, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
      { clock, handlerTimeoutMs: 100 },
    );
    call.send(1);
    await until(() => signal !== undefined);
    await clock.advance(99);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    await until(() => call.status !== undefined);
    expect(call.status).toMatchObject({ code: 4, details: expect.stringMatching(/longer than .* 100 ms/) });
    expect(signal?.reason).toMatchObject({ code: 'HANDLER_TIMEOUT' });
    expect(events.slice(-1)).toEqual(['finish 4 1 0']);
  });

  test('applies backpressure and finishes with the last answer', async () => {
    const call = new FakeCall({ isGated: true });
    const { events } = serve((items) => items, {}, call);
    call.send(1, 2, 3, 4, 5, 6);
    await until(() => call.written.length > 0);
    await new Promise((resolve) => setImmediate(resolve));
    expect(call.writableLength).toBe(2);
    for (let taken = 0; taken < 6; taken += 1) {
      expect(call.status).toBeUndefined();
      await until(() => call.written.length === taken + 1);
      call.letOneThrough();
    }
    await until(() => call.status !== undefined);
    expect(call.written).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events.slice(-1)).toEqual(['finish 0 6 0']);
  });

  test('whose connection is lost between answers counts as cancelled, not finished', async () => {
    const call = new FakeCall({ isGated: true });
    const { events } = serve((items) => items, {}, call);
    call.send(1, 2, 3, 4);
    await until(() => call.written.length > 0);
    call.cancel();
    call.letOneThrough();
    await new Promise((resolve) => setImmediate(resolve));
    expect(events.slice(-1)).toEqual(['cancel']);
    expect(events.filter((event) => event.startsWith('finish'))).toEqual([]);
  });

  test.each(['onItem', 'onExecute'])('fails when its hook %s throws', async (hook) => {
    const { call } = serve(double as never, {
      [hook]: () => {
        throw new Error('not today');
      },
    });
    call.send(1);
    await until(() => call.status !== undefined);
    expect(call.status).toEqual({ code: 13, details: 'not today' });
  });
});
