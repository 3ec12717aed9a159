import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { credentials, type Server, ServerCredentials } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  type ClientTls,
  GrpcChannel,
  GrpcServer,
  type IncomingCall,
  type ServerTls,
  STATUS,
} from '../../src/index.js';
import { byteClient, unary } from '../support/byte-client.js';
import { byteServer } from '../support/byte-server.js';
import { collectedCall } from '../support/collected-call.js';
import { until } from '../support/gate.js';

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

const open: { servers: GrpcServer[]; peers: Server[]; channels: GrpcChannel[] } = {
  servers: [],
  peers: [],
  channels: [],
};
let folder: string;
let ca: Buffer;
let otherCa: Buffer;
let localhost: Pair;
let named: Pair;
let client: Pair;
let stranger: Pair;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-tls-'));
  ca = authority('ca');
  otherCa = authority('other');
  localhost = signed('localhost', 'ca', 'DNS:localhost,IP:127.0.0.1');
  named = signed('model.example', 'ca', 'DNS:model.example');
  client = signed('client', 'ca', 'DNS:client');
  stranger = signed('stranger', 'other', 'DNS:stranger');
});

afterAll(() => rmSync(folder, { recursive: true }));

afterEach(async () => {
  for (const channel of open.channels.splice(0)) channel.destroy();
  for (const peer of open.peers.splice(0)) peer.forceShutdown();
  for (const server of open.servers.splice(0)) {
    server.destroy();
    await server.close();
  }
});

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function authority(name: string): Buffer {
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.crt`,
    '-subj',
    `/CN=${name}`,
    '-days',
    '2',
  );
  return readFileSync(join(folder, `${name}.crt`));
}

function signed(name: string, by: string, subjects: string): Pair {
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.crt`,
    '-subj',
    `/CN=${name}`,
    '-days',
    '2',
    '-CA',
    `${by}.crt`,
    '-CAkey',
    `${by}.key`,
    '-addext',
    `subjectAltName=${subjects}`,
  );
  return { cert: readFileSync(join(folder, `${name}.crt`)), key: readFileSync(join(folder, `${name}.key`)) };
}

const echo = (call: IncomingCall) => call.readUnary((frame) => call.answer(frame));

async function serve(tls: ServerTls, log?: (line: string) => void): Promise<number> {
  const server = new GrpcServer({ onCall: echo, tls, ...(log === undefined ? {} : { log }) });
  open.servers.push(server);
  return (await server.listen({ host: '127.0.0.1', port: 0 })).port;
}

async function outcome(target: string, tls: ClientTls | true) {
  const channel = new GrpcChannel({ target, tls });
  open.channels.push(channel);
  return collectedCall(channel, '/a.B/C', {}, ['m']).ended;
}

test('a channel and a server speak over TLS, by name and by address', async () => {
  const port = await serve(localhost);
  expect((await outcome(`localhost:${port}`, { ca })).status).toBe(STATUS.OK);
  expect((await outcome(`127.0.0.1:${port}`, { ca })).status).toBe(STATUS.OK);
});

test('a certificate of an unknown authority, or for another name, is refused', async () => {
  const port = await serve(localhost);
  expect(await outcome(`localhost:${port}`, true)).toMatchObject({
    status: STATUS.UNAVAILABLE,
    isUnseen: true,
  });
  expect(await outcome(`localhost:${port}`, { ca: otherCa })).toMatchObject({
    status: STATUS.UNAVAILABLE,
    message: expect.stringMatching(/certificate/),
  });
  const other = await serve(named);
  expect(await outcome(`localhost:${other}`, { ca })).toMatchObject({
    status: STATUS.UNAVAILABLE,
    message: expect.stringMatching(/altnames/),
  });
  expect((await outcome(`localhost:${other}`, { ca, serverName: 'model.example' })).status).toBe(STATUS.OK);
});

test('with a client authority, only clients with its certificate are served', async () => {
  const port = await serve({ ...localhost, clientCa: ca });
  expect((await outcome(`localhost:${port}`, { ca, ...client })).status).toBe(STATUS.OK);
  expect(await outcome(`localhost:${port}`, { ca })).toMatchObject({ status: STATUS.UNAVAILABLE });
  expect(await outcome(`localhost:${port}`, { ca, ...stranger })).toMatchObject({
    status: STATUS.UNAVAILABLE,
  });
});

test('a client of @grpc/grpc-js is served over TLS and mutual TLS', async () => {
  const plain = byteClient(await serve(localhost), {}, credentials.createSsl(ca));
  expect((await unary(plain, '/a.B/C', Buffer.from('m'))).answer?.toString()).toBe('m');
  const mutual = byteClient(
    await serve({ ...localhost, clientCa: ca }),
    {},
    credentials.createSsl(ca, client.key, client.cert),
  );
  expect((await unary(mutual, '/a.B/C', Buffer.from('m'))).answer?.toString()).toBe('m');
  plain.close();
  mutual.close();
});

test('a server of @grpc/grpc-js is called over mutual TLS', async () => {
  const { server, port } = await byteServer(
    { unary: (call, callback) => callback(null, call.request) },
    {},
    ServerCredentials.createSsl(ca, [{ private_key: localhost.key, cert_chain: localhost.cert }], true),
    'localhost:0',
  );
  open.peers.push(server);
  const channel = new GrpcChannel({ target: `localhost:${port}`, tls: { ca, ...client } });
  open.channels.push(channel);
  expect((await collectedCall(channel, '/a.B/Unary', {}, ['m']).ended).status).toBe(STATUS.OK);
});

test('whoever does not ask for h2, or does not speak TLS at all, is turned away', async () => {
  const lines: string[] = [];
  const port = await serve(localhost, (line) => lines.push(line));
  for (const ALPNProtocols of [undefined, ['http/1.1']]) {
    await new Promise<void>((resolve) => {
      const socket = connectTls({
        port,
        host: '127.0.0.1',
        ca,
        servername: 'localhost',
        ...(ALPNProtocols === undefined ? {} : { ALPNProtocols }),
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve());
    });
  }
  expect(await outcomeInClear(port)).toMatchObject({ status: STATUS.UNAVAILABLE });
  expect((await outcome(`localhost:${port}`, { ca })).status).toBe(STATUS.OK);

  async function outcomeInClear(to: number) {
    const channel = new GrpcChannel({ target: `127.0.0.1:${to}` });
    open.channels.push(channel);
    return collectedCall(channel, '/a.B/C', {}, ['m']).ended;
  }
});

test('a TLS peer without HTTP/2 is named as such', async () => {
  const server = createTlsServer({ ...localhost });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  expect(await outcome(`localhost:${(server.address() as AddressInfo).port}`, { ca })).toMatchObject({
    status: STATUS.UNAVAILABLE,
    message: expect.stringContaining('does not use HTTP/2'),
  });
  server.close();
});

// Both of Node's events for a failed handshake were logged, with OpenSSL's line breaks.
test('a handshake that fails is one line of the log, which names the client', async () => {
  const log: string[] = [];
  const port = await serve({ ...localhost, clientCa: ca }, (line) => log.push(line));
  await outcome(`localhost:${port}`, { ca, ...stranger });
  await until(() => log.length > 0);
  expect((await outcome(`localhost:${port}`, { ca, ...client })).status).toBe(STATUS.OK);
  for (const line of log) expect(line).toMatch(/^the TLS handshake with 127\.0\.0\.1:\d+ failed: .+$/);
  // It may try again, from another port.
  expect(new Set(log.map((line) => /:\d+/.exec(line)?.[0])).size).toBe(log.length);
});

test('a peer that does not speak TLS is named in one line', async () => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { message } = await outcome(`localhost:${(server.address() as AddressInfo).port}`, { ca });
  server.close();
  expect(message).toMatch(/^no connection to localhost:\d+: TLS: wrong version number$/);
});
