/** Requests that are not read completely, because one side has answered or disconnected. They must be released. */
import { constants } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { framed } from '../support/framing.js';
import { batchesOf, type Proxied, proxied } from '../support/proxied.js';
import { rawBackend, type Step } from '../support/raw-backend.js';
import { answerOf, computePath, rawClient } from '../support/raw-client.js';

const passedPath = '/test.Echo/Other';
/** More than the flow-control windows of both sides. */
const large = Buffer.alloc(3_000_000);
/** Node's client also keeps unread requests, which must not cause a failure of these tests. */
const largeMemory = { maxSessionMemory: 1000 };

async function isAtRest({ proxy }: Proxied): Promise<void> {
  await eventually('no call to be open', () => {
    const { openCalls, backends } = proxy.stats();
    return openCalls === 0 && backends.every((backend) => backend.openCalls + backend.batchesInFlight === 0);
  });
}

// Root cause: a stream that is reset with NO_ERROR stays half open in Node while there is data to send. Such streams used
// up the stream limit of the backend, and a batch that was reset that way never ended.
describe.each([
  ['batched', computePath],
  ['passed through', passedPath],
])('unread requests of calls that are %s', (_name, path) => {
  it.each<[string, readonly Step[]]>([
    [
      'answers and resets the rest',
      [
        { do: 'trailers only', status: 8 },
        { do: 'reset', code: 0 },
      ],
    ],
    ['answers without reading the rest', [{ do: 'trailers only', status: 8 }]],
    ['resets them without an error', [{ do: 'reset', code: 0 }]],
  ])('are released when the backend %s', async (_how, steps) => {
    const backend = await rawBackend({ settings: { maxConcurrentStreams: 3 } });
    const running = await proxied(backend, { ...batchesOf(1), ejection: false, healthCheck: false });
    const client = rawClient(running.port, largeMemory);
    await backend.behave({ do: 'at once' }, { do: 'read no more' }, ...steps);
    for (let count = 0; count < 5; count += 1) {
      expect((await client.call(large, { path })).status).toBeGreaterThan(0);
    }
    await backend.behave({ do: 'echo' }, { do: 'end' });
    expect(await rawClient(running.port).call('x', { path })).toMatchObject({ status: 0, text: 'x' });
    await isAtRest(running);
  });
});

// Root cause: the same on the side of the caller. The call never ended, and an answer to it ended the process.
it.each([
  ['before', []],
  ['after', [{ do: 'headers', headers: {} } satisfies Step]],
])(
  'a caller that resets its stream without an error %s the answer has begun is gone',
  async (_when, begin) => {
    const backend = await rawBackend();
    const running = await proxied(backend, batchesOf(1));
    const client = rawClient(running.port, largeMemory);
    await backend.behaveOnce([
      { do: 'at once' },
      { do: 'read no more' },
      ...begin,
      { do: 'hold', name: 'gate' },
      { do: 'end' },
    ]);
    const stream = client.open({}, passedPath);
    stream.write(framed(large));
    const id = await backend.untilHeld('gate');
    stream.close(constants.NGHTTP2_NO_ERROR);
    expect(await backend.untilClosed(id)).toMatchObject({ rstCode: constants.NGHTTP2_CANCEL });
    await isAtRest(running);
  },
);

// Root cause: after the trailers, the loss of earlier messages with the connection was not detected.
it('a received answer is delivered completely although its backend is lost', async () => {
  const backend = await rawBackend();
  const running = await proxied(backend, { ...batchesOf(1), ejection: false });
  const client = rawClient(running.port, { settings: { initialWindowSize: 1000 } });
  const stream = client.open({}, passedPath);
  const hasBegun = new Promise((resolve) => stream.once('response', resolve));
  stream.end(framed(Buffer.alloc(300_000)));
  const { id } = await backend.nextStream();
  await hasBegun;
  await backend.untilClosed(id);
  await backend.kill();
  await eventually(
    'the backend to be reported as unreachable',
    () => running.proxy.stats().backends[0]?.isUp === false,
  );
  const { status, messages } = await answerOf(stream);
  expect([status, messages.map(({ length }) => length)]).toEqual([0, [300_000]]);
  await isAtRest(running);
});

it('a backend that is lost during its answer fails the call', async () => {
  const backend = await rawBackend();
  const running = await proxied(backend, { ...batchesOf(1), ejection: false });
  const client = rawClient(running.port, { settings: { initialWindowSize: 1000 } });
  const stream = client.open({}, passedPath);
  const hasBegun = new Promise((resolve) => stream.once('response', resolve));
  // More than the flow-control windows between backend and client.
  stream.end(framed(Buffer.alloc(3_000_000)));
  await hasBegun;
  await backend.kill();
  await eventually(
    'the backend to be reported as unreachable',
    () => running.proxy.stats().backends[0]?.isUp === false,
  );
  expect((await answerOf(stream)).status).toBe(14);
  await isAtRest(running);
});
