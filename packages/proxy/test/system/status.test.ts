import { constants } from 'node:http2';
import { status as STATUS } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { grpcClient } from '../support/grpc-client.js';
import { batchesOf, proxied } from '../support/proxied.js';
import { rawBackend } from '../support/raw-backend.js';
import { rawClient } from '../support/raw-client.js';

const details = Buffer.from([8, 5, 18, 4, 0, 255, 10, 13]);
const encodedDetails = details.toString('base64').replace(/=+$/, '');

describe('the status of a batch', () => {
  it('reaches every caller without an answer, with message, details and trailers', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(2));
    await backend.behave({
      do: 'end',
      status: STATUS.FAILED_PRECONDITION,
      message: 'not 100%25 t%C3%B6day%0A',
      trailers: {
        'grpc-status-details-bin': encodedDetails,
        'x-why': 'because',
        'x-why-bin': encodedDetails,
      },
    });
    const client = grpcClient(port);
    for (const answer of await Promise.all([client.call('a'), client.call('b')])) {
      expect(answer).toMatchObject({ status: STATUS.FAILED_PRECONDITION, message: 'not 100% töday\n' });
      expect(answer.answer).toBeUndefined();
      expect(answer.trailers.get('grpc-status-details-bin')).toEqual([details]);
      expect(answer.trailers.get('x-why')).toEqual(['because']);
      expect(answer.trailers.get('x-why-bin')).toEqual([details]);
    }
  });

  it('is read from a trailers-only answer', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await backend.behave({
      do: 'trailers only',
      status: STATUS.PERMISSION_DENIED,
      message: 'no',
      trailers: { 'grpc-status-details-bin': encodedDetails, 'x-why': 'because' },
    });
    const answer = await grpcClient(port).call('a');
    expect(answer).toMatchObject({ status: STATUS.PERMISSION_DENIED, message: 'no' });
    expect(answer.trailers.get('grpc-status-details-bin')).toEqual([details]);
    expect(answer.trailers.get('x-why')).toEqual(['because']);
  });

  it('is passed on with any value', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { ...batchesOf(1), ejection: false });
    const client = rawClient(port);
    for (let status = 1; status <= 16; status += 1) {
      await backend.behave({ do: 'trailers only', status, message: `number ${status}` });
      // For a batched method that the backend does not serve, the proxy adds an explanation.
      const message = expect.stringContaining(`number ${status}`);
      expect(await client.call('a')).toMatchObject({ status, message, messages: [] });
    }
  });

  it('that is not a number is UNKNOWN', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, batchesOf(1));
    await backend.behave({ do: 'end', trailers: { 'grpc-status': 'fine' } });
    expect(await rawClient(port).call('a')).toMatchObject({ status: STATUS.UNKNOWN });
  });
});

describe('an HTTP answer without gRPC', () => {
  const table: [http: number, status: number][] = [
    [400, STATUS.INTERNAL],
    [401, STATUS.UNAUTHENTICATED],
    [403, STATUS.PERMISSION_DENIED],
    [404, STATUS.UNIMPLEMENTED],
    [429, STATUS.UNAVAILABLE],
    [502, STATUS.UNAVAILABLE],
    [503, STATUS.UNAVAILABLE],
    [504, STATUS.UNAVAILABLE],
    [500, STATUS.UNKNOWN],
  ];
  it('becomes the gRPC status of its HTTP status', async () => {
    const backend = await rawBackend();
    const { port, log } = await proxied(backend, { ...batchesOf(1), ejection: false });
    const client = rawClient(port);
    for (const [http, status] of table) {
      await backend.behave({ do: 'http', status: http });
      const answer = await client.call('a');
      expect([http, answer.status]).toEqual([http, status]);
      expect(answer.message).not.toContain(backend.target);
      expect(log.at(-1)).toContain(`HTTP status ${http}`);
      expect(answer.headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc' });
    }
  });
});

describe('a reset', () => {
  const table: [code: number, status: number][] = [
    [constants.NGHTTP2_PROTOCOL_ERROR, STATUS.INTERNAL],
    [constants.NGHTTP2_INTERNAL_ERROR, STATUS.INTERNAL],
    [constants.NGHTTP2_FLOW_CONTROL_ERROR, STATUS.INTERNAL],
    [constants.NGHTTP2_CANCEL, STATUS.CANCELLED],
    [constants.NGHTTP2_ENHANCE_YOUR_CALM, STATUS.RESOURCE_EXHAUSTED],
    [constants.NGHTTP2_INADEQUATE_SECURITY, STATUS.PERMISSION_DENIED],
  ];
  it('becomes the gRPC status of its code and is sent once', async () => {
    const backend = await rawBackend();
    const { port } = await proxied(backend, { ...batchesOf(1), ejection: false });
    const client = rawClient(port);
    for (const [code, status] of table) {
      await backend.behave({ do: 'reset', code });
      expect([code, (await client.call('a')).status]).toEqual([code, status]);
    }
    expect(backend.begun).toBe(table.length);
  });
});
