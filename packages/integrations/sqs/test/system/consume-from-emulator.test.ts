/** Consumers on the SDK's own client, against an emulator of the SQS protocol. */
import { type Message, SQSClient } from '@aws-sdk/client-sqs';
import { type BatchwiseError, VirtualClock } from 'batchwise';
import { expect, onTestFinished, test } from 'vitest';
import { startSqsEmulator } from '../../../../../scripts/services/sqs-emulator.js';
import { type ConsumeHandler, type ConsumeOptions, type Consumer, consume } from '../../src/index.js';
import { newGate } from '../support/gate.js';
import { until } from '../support/until.js';

interface Reported {
  readonly error: Error;
  readonly body: string | undefined;
}

/** An emulator with a queue, and consumers that end with the test. */
async function withQueue({ clock, name = 'orders' }: { clock?: VirtualClock; name?: string } = {}) {
  const emulator = await startSqsEmulator(clock === undefined ? {} : { clock });
  const client = new SQSClient({ ...emulator.clientConfig, maxAttempts: 1 });
  const queue = emulator.createQueue(name);
  const consumers: Consumer[] = [];
  const reported: Reported[] = [];
  onTestFinished(async () => {
    const closed = consumers.map((consumer) => consumer.close({ timeoutMs: 0 }));
    await clock?.advance(0);
    await (clock === undefined ? Promise.all(closed) : undefined);
    client.destroy();
    await emulator.close();
  });
  const start = (handler: ConsumeHandler, options: Partial<ConsumeOptions> = {}) => {
    const onError = (error: Error, message?: Message) => reported.push({ error, body: message?.Body });
    const clockOption = clock === undefined ? {} : { clock };
    const consumer = consume(client, { queueUrl: queue.url, onError, ...clockOption, ...options }, handler);
    consumers.push(consumer);
    return consumer;
  };
  const send = (...bodies: string[]) => {
    for (const MessageBody of bodies) queue.send(input({ MessageBody }));
  };
  return { emulator, queue, start, send, reported };
}

type Input = Parameters<Awaited<ReturnType<typeof startSqsEmulator>>['failEntry']>[1];

function input(fields: Partial<Input>): Input {
  return { QueueUrl: '', Id: '', Entries: [], MessageBody: '', ReceiptHandle: '', ...fields };
}

const bodiesOf = (messages: readonly Message[]) => messages.map(({ Body = '' }) => Body);

/** Closes a consumer whose long poll has nothing to wait for. */
async function close(consumer: Consumer, emulator: { endLongPolls(): void }) {
  const closed = consumer.close();
  emulator.endLongPolls();
  await closed;
}

test('messages are handled in batches and deleted', async () => {
  const { emulator, queue, start, send } = await withQueue();
  const names = Array.from({ length: 35 }, (_, index) => `message ${index}`);
  send(...names);
  const batches: string[][] = [];
  const consumer = start((messages) => {
    batches.push(bodiesOf(messages));
  });
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  expect(batches.flat().sort()).toEqual([...names].sort());
  expect(batches.length).toBeLessThan(names.length / 2);
  expect(emulator.inputs('DeleteMessageBatch').length).toBeLessThan(names.length / 2);
  expect(consumer.stats()).toMatchObject({ succeeded: 35, failed: 0 });
});

test('a message whose result is an error is returned, and its neighbours are deleted', async () => {
  const { emulator, queue, start, send, reported } = await withQueue();
  send('good', 'bad', 'fine');
  const seen: string[] = [];
  const consumer = start((messages) =>
    messages.map(({ Body = '', Attributes }) => {
      seen.push(Body);
      return Body === 'bad' && Attributes?.ApproximateReceiveCount === '1' ? new Error('not yet') : 'done';
    }),
  );
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  expect(seen.sort()).toEqual(['bad', 'bad', 'fine', 'good']);
  expect(reported).toEqual([{ error: new Error('not yet'), body: 'bad' }]);
  const returned = emulator.inputs('ChangeMessageVisibilityBatch').flatMap(({ Entries }) => Entries);
  expect(returned.map(({ VisibilityTimeout }) => VisibilityTimeout)).toEqual([0]);
});

test('a message is returned after retryDelaySeconds', async () => {
  const { emulator, queue, start, send } = await withQueue();
  send('bad');
  start((messages) => messages.map(() => new Error('later')), { retryDelaySeconds: 60 });
  await emulator.until(() => emulator.inputs('ChangeMessageVisibilityBatch').length === 1);
  const [request] = emulator.inputs('ChangeMessageVisibilityBatch');
  expect(request?.Entries.map(({ VisibilityTimeout }) => VisibilityTimeout)).toEqual([60]);
  expect(queue.messages.map(({ receiveCount }) => receiveCount)).toEqual([1]);
});

test('all messages of a batch that throws are returned', async () => {
  const { emulator, queue, start, send, reported } = await withQueue();
  send('a', 'b', 'c');
  let isFirst = true;
  const consumer = start(() => {
    if (!isFirst) return;
    isFirst = false;
    throw new Error('the database is down');
  });
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  expect(reported.map(({ body }) => body).sort()).toEqual(['a', 'b', 'c']);
  for (const { error } of reported) expect(error).toMatchObject({ code: 'HANDLER_FAILED' });
});

test('the handler sees the attributes of a message', async () => {
  const { emulator, queue, start } = await withQueue();
  const MessageAttributes = { kind: { DataType: 'String', StringValue: 'new' } };
  queue.send(input({ MessageBody: 'x', MessageAttributes }));
  const seen: Message[] = [];
  const consumer = start((messages) => void seen.push(...messages));
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  expect(seen).toMatchObject([
    { Body: 'x', MessageAttributes, Attributes: { ApproximateReceiveCount: '1' } },
  ]);
  expect(emulator.inputs('ReceiveMessage')[0]).toMatchObject({
    MaxNumberOfMessages: 10,
    WaitTimeSeconds: 20,
    VisibilityTimeout: 30,
  });
});

test('close finishes what was received, and receives nothing more', async () => {
  const { emulator, queue, start, send } = await withQueue();
  send('running');
  const gate = newGate();
  const started = newGate();
  const consumer = start(async () => {
    started.open();
    await gate.promise;
  });
  await started.promise;
  let isClosed = false;
  const closed = consumer.close().then(() => {
    isClosed = true;
  });
  emulator.endLongPolls();
  await emulator.until(() => emulator.inputs('ReceiveMessage').length >= 1);
  expect(isClosed).toBe(false);
  gate.open();
  await closed;
  const receives = emulator.inputs('ReceiveMessage').length;
  send('later');
  expect(queue.bodies).toEqual(['later']);
  expect(emulator.inputs('ReceiveMessage')).toHaveLength(receives);
  await consumer.close(); // closed already
});

test('close with a time limit returns what is not finished', async () => {
  const { emulator, queue, start, send, reported } = await withQueue();
  send('endless', 'waiting');
  const started = newGate<AbortSignal>();
  const handler: ConsumeHandler = (_, { signal }) => {
    started.open(signal);
    return new Promise(() => {});
  };
  const consumer = start(handler, { maxBatchSize: 1, retryDelaySeconds: 60 });
  const signal = await started.promise;
  await emulator.until(() => queue.inFlight.length === 2);
  await consumer.close({ timeoutMs: 1 });
  expect(signal.aborted).toBe(true);
  expect(queue.inFlight).toEqual([]);
  expect(queue.bodies).toEqual(['endless', 'waiting']);
  expect(reported.map(({ error }) => (error as BatchwiseError).code)).toEqual(['CLOSED', 'CLOSED']);
});

test('no more messages are received than the handler can take next', async () => {
  const { emulator, queue, start, send } = await withQueue();
  send(...Array.from({ length: 100 }, (_, index) => `message ${index}`));
  const gate = newGate();
  const consumer = start(() => gate.promise, { maxBatchSize: 15, concurrency: 2 });
  await emulator.until(() => queue.inFlight.length === 40);
  expect(emulator.inputs('ReceiveMessage').map(({ MaxNumberOfMessages }) => MaxNumberOfMessages)).toEqual(
    // There is room for five more; the next request waits until it can bring ten.
    [10, 10, 10, 10],
  );
  gate.open();
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
});

test('a failed request for messages is reported and made again', async () => {
  const { emulator, queue, start, send, reported } = await withQueue();
  send('patient');
  let failures = 2;
  emulator.intercept = () => (failures-- > 0 ? 'cut' : undefined);
  const consumer = start(() => undefined);
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  expect(reported.map(({ error }) => (error as BatchwiseError).code)).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
});

test('a deletion that fails is reported with its message', async () => {
  const { emulator, queue, start, send } = await withQueue();
  send('kept', 'deleted');
  const isKept = (handle: string) =>
    queue.messages.find(({ receipt }) => receipt === handle)?.body === 'kept';
  emulator.failEntry = (action, { ReceiptHandle }) =>
    action === 'DeleteMessageBatch' && isKept(ReceiptHandle)
      ? { Code: 'InternalError', Message: 'Oops.', SenderFault: false }
      : undefined;
  const report = newGate<{ error: Error; message: Message | undefined }>();
  const consumer = start(() => undefined, { onError: (error, message) => report.open({ error, message }) });
  expect(await report.promise).toMatchObject({ error: { code: 'UNAVAILABLE' }, message: { Body: 'kept' } });
  await close(consumer, emulator);
  expect(queue.bodies).toEqual(['kept']);
});

test('an onError that throws does not stop the consumer', async () => {
  const { emulator, queue, start, send } = await withQueue();
  send('bad', 'good');
  const warned = newGate();
  const onWarning = ({ message }: Error) => {
    if (message === 'of onError') warned.open();
  };
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const isBad = ({ Body, Attributes }: Message) =>
    Body === 'bad' && Attributes?.ApproximateReceiveCount === '1';
  const consumer = start((messages) => messages.map((each) => (isBad(each) ? new Error('bad') : undefined)), {
    onError: () => {
      throw new Error('of onError');
    },
  });
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  await warned.promise;
});

test('a FIFO queue is consumed in the order of each group, also when a message fails', async () => {
  const { emulator, queue, start } = await withQueue({ name: 'orders.fifo' });
  for (let index = 0; index < 30; index++) {
    queue.send(input({ MessageBody: `${index}`, MessageGroupId: `group-${index % 3}` }));
  }
  const handled: string[] = [];
  const consumer = start((messages) => {
    expect(new Set(messages.map(({ Attributes }) => Attributes?.MessageGroupId)).size).toBe(messages.length);
    return messages.map(({ Body = '', Attributes }) => {
      if (Number(Body) % 7 === 0 && Attributes?.ApproximateReceiveCount === '1') return new Error('not yet');
      handled.push(Body);
      return undefined;
    });
  });
  await emulator.until(() => queue.messages.length === 0);
  await close(consumer, emulator);
  for (const group of [0, 1, 2]) {
    const ofGroup = handled.map(Number).filter((index) => index % 3 === group);
    expect(ofGroup).toEqual(Array.from({ length: 10 }, (_, index) => 3 * index + group));
  }
});

test('messages stay hidden as long as they are in work', async () => {
  const clock = new VirtualClock();
  const { emulator, queue, start, send } = await withQueue({ clock });
  send('slow', 'quick');
  const gate = newGate();
  const handler: ConsumeHandler = async ([message]) => {
    if (message?.Body === 'slow') await gate.promise;
  };
  const consumer = start(handler, { visibilityTimeoutSeconds: 30, maxBatchSize: 1, concurrency: 2 });
  await until(
    clock,
    'the quick message',
    () => queue.bodies.join() === 'slow' && queue.inFlight.length === 1,
  );
  const extensions = () => emulator.inputs('ChangeMessageVisibilityBatch');
  for (let extension = 1; extension <= 9; extension++) {
    await clock.advance(10_000);
    await until(clock, 'an extension', () => extensions().length === extension);
  }
  expect(clock.now()).toBeGreaterThanOrEqual(90_000); // three times the visibility time-out
  for (const { Entries } of extensions()) expect(Entries).toMatchObject([{ VisibilityTimeout: 30 }]);
  expect(queue.messages.map(({ body, receiveCount }) => [body, receiveCount])).toEqual([['slow', 1]]);
  gate.open();
  await until(clock, 'the slow message', () => queue.messages.length === 0);
  let isClosed = false;
  void close(consumer, emulator).then(() => {
    isClosed = true;
  });
  await until(clock, 'the end', () => isClosed);
  expect(clock.pendingTimers).toBe(0);
});

test('a message is returned after an extension that is on its way, not before', async () => {
  // SQS would apply the extension last, and keep the message hidden.
  const clock = new VirtualClock();
  const { emulator, queue, start, send } = await withQueue({ clock });
  send('failing');
  const gate = newGate();
  const extension = newGate<undefined>();
  let isHeld = false;
  emulator.intercept = ({ action }) => {
    if (action !== 'ChangeMessageVisibilityBatch' || isHeld) return undefined;
    isHeld = true;
    return extension.promise;
  };
  let calls = 0;
  const consumer = start(async (messages) => {
    calls += 1;
    if (calls > 1) return undefined;
    await gate.promise;
    return messages.map(() => new Error('failed'));
  });
  await until(clock, 'the handler', () => calls === 1);
  await clock.advance(10_000);
  await until(clock, 'the extension', () => isHeld);
  gate.open();
  await until(clock, 'the failure', () => consumer.stats().failed === 1);
  for (let turn = 0; turn < 20; turn++) await clock.settle();
  expect(emulator.inputs('ChangeMessageVisibilityBatch')).toHaveLength(1);
  extension.open(undefined);
  await until(clock, 'the second delivery', () => queue.messages.length === 0);
  expect(calls).toBe(2);
});

test.each([
  [{ waitTimeSeconds: 0 }, /waitTimeSeconds: expected a whole number from 1 to 20, got 0/],
  [{ visibilityTimeoutSeconds: 1 }, /visibilityTimeoutSeconds: expected a whole number from 3 to 43200/],
  [{ retryDelaySeconds: -1 }, /retryDelaySeconds/],
  [{ onError: 'log' }, /onError: expected a function, got string/],
  [{ queueUrl: '' }, /queueUrl/],
  [{ maxBatchsize: 5 }, /unknown option "maxBatchsize"/],
])('the option %o is rejected', async (options, message) => {
  const { emulator, start } = await withQueue();
  expect(() => start(() => undefined, options as never)).toThrow(message);
  expect(emulator.requests).toEqual([]);
});
