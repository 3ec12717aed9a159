/** The test backends and clients without a proxy: the other tests rely on their behaviour. */
import { describe, expect, it } from 'vitest';
import { framed } from '../support/framing.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { grpcClient } from '../support/grpc-client.js';
import { pythonBackend, pythonCalls } from '../support/python-peer.js';
import { rawBackend, type Step } from '../support/raw-backend.js';
import { batchedPath, rawClient } from '../support/raw-client.js';

const three = Buffer.concat([framed('one'), framed(''), framed('three')]);

describe('the raw backend', () => {
  it('echoes every message of a stream in any chunks', async () => {
    const backend = await rawBackend();
    const answer = await rawClient(backend.port).call('', {
      path: batchedPath,
      body: three,
      cuts: [0.1, 0.2, 0.9],
    });
    expect(answer.messages.map(String)).toEqual(['one', '', 'three']);
    expect(answer.status).toBe(0);
    expect((await backend.nextStream()).texts).toEqual(['one', '', 'three']);
  });

  it('holds, answers half and ends with a status', async () => {
    const backend = await rawBackend();
    await backend.behave(
      { do: 'echo', count: 1 },
      { do: 'hold', name: 'gate' },
      { do: 'end', status: 9, message: 'enough', trailers: { 'x-bin': 'AAE' } },
    );
    const answering = rawClient(backend.port).call('', { path: batchedPath, body: three });
    const id = await backend.untilHeld('gate');
    await backend.release('gate');
    const answer = await answering;
    expect(answer.messages.map(String)).toEqual(['one']);
    expect(answer).toMatchObject({ status: 9, message: 'enough', trailers: { 'x-bin': 'AAE' } });
    expect(await backend.untilClosed(id)).toMatchObject({ answered: 1, rstCode: 0 });
  });

  it('resets a stream and records a reset', async () => {
    const backend = await rawBackend();
    await backend.behaveOnce([{ do: 'reset', code: 7 }], [{ do: 'nothing' }]);
    const client = rawClient(backend.port);
    expect(await client.call('x')).toMatchObject({ status: -1, rstCode: 7 });
    const stream = client.open();
    stream.end(framed('y'));
    await backend.nextStream();
    const { id } = await backend.nextStream();
    stream.close(8);
    expect(await backend.untilClosed(id)).toMatchObject({ rstCode: 8 });
  });

  // Root cause: Node's HTTP/2 server drops the RST_STREAM of a stream that is closed in 'wantTrailers' before its 'finish'
  // event, so the peer waits forever. The reset of another stream in the same turn triggers it: it flushes the session.
  it('ends a stream without trailers when another stream is reset in the same turn', async () => {
    const backend = await rawBackend();
    const gate: Step = { do: 'hold', name: 'gate' };
    await backend.behaveOnce([gate, { do: 'end without trailers' }], [gate, { do: 'reset', code: 7 }]);
    const client = rawClient(backend.port);
    const ending = client.call('x');
    await backend.untilHeld('gate');
    const resetting = client.call('y');
    await backend.untilHeld('gate', 2);
    await backend.release('gate');
    expect(await resetting).toMatchObject({ status: -1, rstCode: 7 });
    expect(await ending).toMatchObject({ headers: { ':status': 200 }, status: -1, rstCode: 0 });
  });

  it('answers without trailers, without gRPC, and with trailers only', async () => {
    const backend = await rawBackend();
    await backend.behaveOnce(
      [{ do: 'echo' }, { do: 'end without trailers' }],
      [{ do: 'http', status: 503 }],
      [{ do: 'trailers only', status: 5, message: 'none' }],
    );
    const client = rawClient(backend.port);
    expect(await client.call('x')).toMatchObject({ status: -1 });
    const stream = client.open();
    stream.resume();
    const [headers] = await new Promise<[Record<string, unknown>]>((resolve) =>
      stream.end(framed('y')).once('response', (...args) => resolve(args as never)),
    );
    expect(headers[':status']).toBe(503);
    expect(await client.call('x')).toMatchObject({ status: 5, message: 'none', messages: [] });
  });
});

it('the backend of @grpc/grpc-js answers its client', async () => {
  const backend = await grpcBackend();
  const { status, answer } = await grpcClient(backend.port).call('hello');
  expect({ status, answer: String(answer) }).toEqual({ status: 0, answer: 'hello' });
});

it('the backend of grpcio answers its client', async () => {
  const backend = await pythonBackend();
  const answers = await pythonCalls(backend.port, [{ message: Buffer.from('hello') }]);
  expect(answers).toMatchObject([{ status: 0, answer: Buffer.from('hello') }]);
});
