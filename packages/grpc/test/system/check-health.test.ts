import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import {
  checkHealth,
  frameOf,
  GrpcChannel,
  GrpcError,
  GrpcServer,
  type HealthState,
  messageOf,
  STATUS,
} from '../../src/index.js';
import { collectedCall } from '../support/collected-call.js';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function healthOf(
  message: number[] | GrpcError,
  service?: string,
): Promise<{ state: HealthState | Error; asked: string }> {
  let asked = '';
  const server = new GrpcServer({
    onCall(call) {
      call.readUnary((frame) => {
        asked = `${call.path} ${messageOf(frame).toString('latin1')}`;
        if (message instanceof GrpcError) call.fail(message);
        else call.answer(frameOf(Buffer.from(message)));
      });
    },
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const channel = new GrpcChannel({ target: `127.0.0.1:${port}` });
  open.push(channel, server);
  const state = await new Promise<HealthState | Error>((resolve) => {
    checkHealth(channel, { timeoutMs: 10_000, ...(service === undefined ? {} : { service }) }, resolve);
  });
  return { state, asked };
}

test.each([
  ['serving', [8, 1]],
  ['not serving', [8, 2]],
  ['unknown', []],
  ['unknown', [8, 3]],
  ['unknown', new GrpcError(STATUS.NOT_FOUND, 'no such service')],
  ['unimplemented', new GrpcError(STATUS.UNIMPLEMENTED, 'no')],
] as const)('a peer is %s', async (state, message) => {
  expect((await healthOf(message instanceof GrpcError ? message : [...message])).state).toBe(state);
});

test('an error of the check is given as one', async () => {
  const { state } = await healthOf(new GrpcError(STATUS.UNAVAILABLE, 'starting'));
  expect(state).toMatchObject({ status: STATUS.UNAVAILABLE, message: 'starting' });
});

test('a service is asked for by its name', async () => {
  expect((await healthOf([8, 1], 'a.B')).asked).toBe('/grpc.health.v1.Health/Check \n\x03a.B');
});

test('a channel speaks over a unix socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-unix-'));
  const path = join(folder, 's');
  const server = createServer();
  server.on('stream', (stream) =>
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' },
      { endStream: true },
    ),
  );
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const channel = new GrpcChannel({ target: `unix:${path}` });
  expect((await collectedCall(channel, '/a.B/C', {}, ['m']).ended).status).toBe(STATUS.OK);
  await channel.close();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true });
});
