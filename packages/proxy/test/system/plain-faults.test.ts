/** For any fault of a backend, clients see neither its address nor error codes of the operating system nor a stack. */
import { expect, it } from 'vitest';
import { bareBackend } from '../support/bare-backend.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend, type Step } from '../support/raw-backend.js';
import { computePath, type RawAnswer, rawClient } from '../support/raw-client.js';

/** Errors of the proxy itself; errors that a backend sends are passed on. */
const FAULTS: readonly (readonly [string, readonly Step[]])[] = [
  ['closes the connection at once', [{ do: 'at once' }, { do: 'destroy' }]],
  ['closes the connection after its headers', [{ do: 'headers', headers: {} }, { do: 'destroy' }]],
  ['resets the stream', [{ do: 'reset', code: 2 }]],
  ['resets the stream with ENHANCE_YOUR_CALM', [{ do: 'reset', code: 11 }]],
  ['resets the stream without an error', [{ do: 'reset', code: 0 }]],
  ['refuses the stream', [{ do: 'reset', code: 7 }]],
  ['sends GOAWAY with an error', [{ do: 'goaway', code: 2 }, { do: 'destroy' }]],
  ['answers over HTTP', [{ do: 'http', status: 502, body: 'connect ECONNREFUSED' }]],
  ['ends without trailers', [{ do: 'echo' }, { do: 'end without trailers' }]],
  ['ends before it has answered', [{ do: 'headers', headers: {} }, { do: 'end' }]],
  [
    'answers with half a message',
    [
      { do: 'write', hex: '0000000009aa' },
      { do: 'end', status: 3 },
    ],
  ],
  ['answers with an invalid flag', [{ do: 'write', hex: '0900000001aa' }, { do: 'end' }]],
  ['answers with an invalid status', [{ do: 'end', trailers: { 'grpc-status': 'oops' } }]],
];

function expectPlain({ message }: RawAnswer, target: string): void {
  expect(message).not.toContain(target);
  expect(message).not.toMatch(/127\.0\.0\.1|localhost|::1|:\d{2,5}\b/);
  expect(message).not.toMatch(/\bE[A-Z]{4,}\b|errno|\n|\.[jt]s\b|node:|HTTP\/2 error code/);
}

it.each(FAULTS)('a backend that %s', async (_what, steps) => {
  const backend = await rawBackend();
  const { port } = await proxied(backend, { ...batchesOf(1), ejection: false });
  for (const path of [computePath, '/test.Echo/Other']) {
    await backend.behave(...steps);
    expectPlain(await rawClient(port).call('x', { path }), backend.target);
  }
});

it.each([
  [{ ':status': '999', 'content-type': 'application/grpc' }, undefined],
  [{ ':status': '200', 'content-type': 'application/grpc', 'x-a-bin': '!!!' }, { 'grpc-status': '0' }],
  [
    { ':status': '200', 'content-type': 'application/grpc' },
    { 'grpc-status': '0', 'x-a-bin': '!!!' },
  ],
])('a backend with invalid headers, %#', async (headers, trailers) => {
  const backend = await bareBackend(headers, trailers);
  const { port } = await proxied(backend, { ...batchesOf(1), ejection: false });
  for (const path of [computePath, '/test.Echo/Other']) {
    expectPlain(await rawClient(port).call('x', { path }), backend.target);
  }
});

it('a missing backend: the log has address and reason, clients get UNAVAILABLE', async () => {
  const backend = await rawBackend();
  const { port, log } = await proxied(backend, batchesOf(1));
  await backend.behave({ do: 'hold', name: 'gate' });
  const calls = [computePath, '/test.Echo/Other'].map((path) => rawClient(port).call('x', { path }));
  await backend.untilHeld('gate');
  await backend.flushed();
  await backend.kill();
  for (const path of [computePath, '/test.Echo/Other']) calls.push(rawClient(port).call('x', { path }));
  for (const answer of await Promise.all(calls)) {
    expect([answer.status, answer.message]).toEqual([14, 'The backend is unavailable.']);
  }
  expect(log.join('\n')).toContain(`backend ${backend.target}`);
});
