import { connect } from 'node:net';
import { credentials, status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { makeCertificates } from '../../../redis/test/support/certificates.js';
import { grpcBackend } from '../support/grpc-backend.js';
import { grpcClient } from '../support/grpc-client.js';
import { proxied } from '../support/proxied.js';
import { rawClient } from '../support/raw-client.js';

const { ca, server, client } = makeCertificates();
const stranger = makeCertificates();
const pem = Buffer.from;

/** Without `pair` the client has no certificate. */
function trusting(pair?: { readonly cert: string; readonly key: string }) {
  return pair === undefined
    ? credentials.createSsl(pem(ca))
    : credentials.createSsl(pem(ca), pem(pair.key), pem(pair.cert));
}

describe('between the callers and the proxy', () => {
  it('callers get the certificate of the proxy', async () => {
    const { port } = await proxied(await grpcBackend(), { tls: server });
    const { status, answer } = await grpcClient(port, { credentials: trusting() }).call('x');
    expect([status, String(answer)]).toEqual([0, 'x']);
  });

  it('a client certificate is required if configured', async () => {
    const { port } = await proxied(await grpcBackend(), { tls: { ...server, clientCa: ca } });
    const known = grpcClient(port, { credentials: trusting(client) });
    expect((await known.call('x')).status).toBe(0);
    const unknown = grpcClient(port, { credentials: trusting() });
    expect((await unknown.call('x')).status).toBe(STATUS.UNAVAILABLE);
    const strange = grpcClient(port, { credentials: trusting(stranger.client) });
    expect((await strange.call('x')).status).toBe(STATUS.UNAVAILABLE);
    expect((await known.call('x')).status).toBe(0);
  });

  it('callers without TLS are rejected', async () => {
    const { port } = await proxied(await grpcBackend(), { tls: server });
    const plain = rawClient(port);
    const closed = new Promise((resolve) => plain.session.once('close', resolve));
    await closed;
    const noise = connect(port, '127.0.0.1');
    noise.on('error', () => {});
    noise.end('GET / HTTP/1.1\r\n\r\n');
    await new Promise((resolve) => noise.once('close', resolve));
    expect((await grpcClient(port, { credentials: trusting() }).call('x')).status).toBe(0);
  });
});

describe('between the proxy and the backend', () => {
  it('the certificate of the backend is verified', async () => {
    const { port } = await proxied(await grpcBackend({ tls: server }), { backendTls: { ca } });
    const { status, message } = await grpcClient(port).call('x');
    expect([status, message]).toEqual([0, '']);
  });

  it('the proxy presents its client certificate', async () => {
    const backend = await grpcBackend({ tls: { ...server, clientCa: ca } });
    const known = await proxied(backend, { backendTls: { ca, ...client } });
    expect((await grpcClient(known.port).call('x')).status).toBe(0);
    const unknown = await proxied(backend, { backendTls: { ca } });
    expect((await grpcClient(unknown.port).call('x')).status).toBe(STATUS.UNAVAILABLE);
  });

  it('a backend with an untrusted certificate is not used, and the reason is logged', async () => {
    const { port, log } = await proxied(await grpcBackend({ tls: stranger.server }), { backendTls: { ca } });
    const { status, message } = await grpcClient(port).call('x');
    expect([status, message]).toEqual([STATUS.UNAVAILABLE, 'The backend is unavailable.']);
    expect(log.join()).toMatch(/certificate|issuer/i);
  });

  it('a backend whose certificate has another name is not used', async () => {
    const backend = await grpcBackend({ tls: server });
    const wrong = await proxied(backend, { backendTls: { ca, serverName: 'elsewhere.example' } });
    expect((await grpcClient(wrong.port).call('x')).status).toBe(STATUS.UNAVAILABLE);
    const right = await proxied(backend, { backendTls: { ca, serverName: 'localhost' } });
    expect((await grpcClient(right.port).call('x')).status).toBe(0);
  });
});

it('mutual TLS on both sides works for batches and streams', async () => {
  const backend = await grpcBackend({ tls: { ...server, clientCa: ca } });
  const { port } = await proxied(backend, {
    tls: { ...server, clientCa: ca },
    backendTls: { ca, ...client },
  });
  const known = grpcClient(port, { credentials: trusting(client) });
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => known.call(`${index}`)));
  expect(answers.map(({ answer }) => String(answer))).toEqual(answers.map((_, index) => `${index}`));
  expect((await known.call('other', { path: '/test.Echo/Other' })).status).toBe(0);
});
