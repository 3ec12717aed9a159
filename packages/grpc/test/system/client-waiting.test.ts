/** Calls that wait for room on a connection, and connections that are no longer needed. */
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { GrpcChannel, type RawStream, STATUS } from '../../src/index.js';
import { collectedCall } from '../support/collected-call.js';
import { until } from '../support/gate.js';
import { begunCall, greetedPeer } from '../support/greeted-peer.js';
import {
  END_HEADERS,
  END_STREAM,
  HEADERS,
  headerBlock,
  RST_STREAM,
  rawFrame,
  SETTINGS,
  setting,
} from '../support/raw-http2.js';

const MAX_CONCURRENT_STREAMS = 3;
const OK = headerBlock({ ':status': '200', 'content-type': 'application/grpc', 'grpc-status': '0' });
const answer = (streamId: number) => rawFrame(HEADERS, END_HEADERS | END_STREAM, streamId, OK);

// A stream closes at once, and its place was given to the next that waits while the one before it was still in the list:
// it was begun again, without end, and those behind it were struck off the list and never begun.
test('a stream that is given up as soon as it begins is begun once, and those behind it get their turn', async () => {
  await using greeted = await greetedPeer(setting(MAX_CONCURRENT_STREAMS, 1));
  const { channel, peer } = greeted;
  const first = await begunCall(greeted, ['m']);
  const given: (RawStream | undefined)[] = [];
  for (let i = 0; i < 3; i++) {
    channel.openStream({ ':path': '/a.B/C', 'content-type': 'application/grpc' }, (_error, stream) => {
      given.push(stream);
      stream?.destroy();
    });
  }
  const behind = [1, 2].map(() => collectedCall(channel, '/a.B/C', {}, ['m']));
  peer.send(answer(1));
  expect((await first.ended).status).toBe(STATUS.OK);
  for (const [place, call] of behind.entries()) {
    const streamId = 9 + 2 * place;
    await peer.saw((frame) => frame.type === HEADERS && frame.streamId === streamId);
    peer.send(answer(streamId));
    expect((await call.ended).status).toBe(STATUS.OK);
  }
  expect(given).toHaveLength(3);
  expect(peer.frames.filter(({ type }) => type === RST_STREAM).map(({ streamId }) => streamId)).toEqual([
    3, 5, 7,
  ]);
  expect(channel.openCalls).toBe(0);
});

test('a channel that is destroyed by the first that gets its turn refuses those behind it, each once', async () => {
  await using greeted = await greetedPeer(setting(MAX_CONCURRENT_STREAMS, 1));
  const { channel, peer } = greeted;
  await begunCall(greeted, ['m']);
  const given: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    channel.openStream({ ':path': '/a.B/C' }, (error, stream) => {
      given.push(`${name}: ${error === undefined ? 'begun' : 'refused'}`);
      stream?.on('close', () => given.push(`${name}: closed`));
      channel.destroy();
    });
  }
  peer.send(answer(1));
  await until(() => given.includes('a: closed'));
  expect(given).toEqual(['a: begun', 'b: refused', 'c: refused', 'a: closed']);
});

// Nothing is sent on a connection that has been closed from here, so nobody noticed a peer that does not close its end.
test('a channel is closed, also when the peer never closes the connection', async () => {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write(rawFrame(SETTINGS, 0, 0));
    socket.resume();
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  const channel = new GrpcChannel({ target: `127.0.0.1:${port}`, keepaliveMs: 20, keepaliveTimeoutMs: 20 });
  channel.connect();
  await until(() => channel.state === 'ready');
  await channel.close();
  expect(sockets[0]?.readableEnded).toBe(true);
});
