/** What headers our clients send and read, with node:http2, which compresses them in every way there is, at the other end. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, type Settings } from 'node:http2';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GrpcChannel, metadataOf, STATUS } from '../../src/index.js';
import { collectedCall } from '../support/collected-call.js';
import { greetedPeer } from '../support/greeted-peer.js';
import { ACK, SETTINGS, setting } from '../support/raw-http2.js';

interface Exchange {
  readonly request: OutgoingHttpHeaders;
  readonly headers: OutgoingHttpHeaders;
  readonly trailers: OutgoingHttpHeaders;
}

/** Answers with what it is told to, and tells what it was asked with. */
async function node(settings: Settings) {
  const server = createServer({ settings });
  const asked: IncomingHttpHeaders[] = [];
  const answers: Omit<Exchange, 'request'>[] = [];
  server.on('stream', (stream, request) => {
    asked.push(request);
    const { headers, trailers } = answers.shift() as Omit<Exchange, 'request'>;
    stream.respond(
      { ...headers, ':status': 200, 'content-type': 'application/grpc' },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers, 'grpc-status': '0' }));
    stream.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const channel = new GrpcChannel({ target: `127.0.0.1:${(server.address() as AddressInfo).port}` });
  return {
    channel,
    asked,
    answers,
    [Symbol.asyncDispose]: async () => {
      await channel.close();
      server.close();
    },
  };
}

/** Few of them, so that entries meet again; long ones, so that tables overflow. */
const name = fc.constantFrom('x-a', 'x-b', 'x-c', 'x-longer-than-the-others', 'server', 'etag', 'accept');
const value = fc.oneof(
  fc.constantFrom('', 'a', 'same', '0123456789'),
  fc
    .array(fc.integer({ min: 0x21, max: 0x7e }), { minLength: 1, maxLength: 400 })
    .map((codes) => String.fromCharCode(...codes)),
  fc
    .array(fc.integer({ min: 0xa1, max: 0xff }), { minLength: 1, maxLength: 20 })
    .map((codes) => String.fromCharCode(...codes)),
);
const metadata = fc.dictionary(name, value, { maxKeys: 6 });
const exchange = fc.record({ request: metadata, headers: metadata, trailers: metadata });

test.each([4096, 0, 100, 65_536])(
  'any headers come through, both ways, with a table of %d bytes',
  async (size) => {
    await fc.assert(
      fc.asyncProperty(fc.array(exchange, { minLength: 1, maxLength: 12 }), async (exchanges) => {
        await using peer = await node({ headerTableSize: size });
        for (const { request, headers, trailers } of exchanges) {
          peer.answers.push({ headers, trailers });
          const call = collectedCall(peer.channel, '/a.B/C', { metadata: request }, ['m']);
          const end = await call.ended;
          expect(end.status).toBe(STATUS.OK);
          expect(metadataOf(call.headers() ?? {})).toEqual(headers);
          expect(metadataOf(end.trailers)).toEqual(trailers);
          expect(metadataOf(peer.asked.at(-1) ?? {})).toEqual(request);
          expect(peer.asked.at(-1)).toMatchObject({ ':method': 'POST', ':path': '/a.B/C', te: 'trailers' });
        }
      }),
      { numRuns: 25 },
    );
  },
);

test('every byte that a value may have is read as it was sent, plain and in Huffman’s code', async () => {
  await using peer = await node({});
  const codes = Array.from({ length: 256 }, (_, code) => code).filter(
    (code) => (code > 0x20 && code < 0x7f) || code >= 0x80,
  );
  // Rare bytes have long codes, and are only sent in them among many with short ones.
  for (const before of ['', 'e'.repeat(40)]) {
    for (let at = 0; at < codes.length; at += 100) {
      const headers = Object.fromEntries(
        codes.slice(at, at + 100).map((code) => [`x-${code}`, `${before}${String.fromCharCode(code)}`]),
      );
      peer.answers.push({ headers, trailers: {} });
      const call = collectedCall(peer.channel, '/a.B/C', { metadata: headers }, ['m']);
      expect((await call.ended).status).toBe(STATUS.OK);
      expect(metadataOf(call.headers() ?? {})).toEqual(headers);
      expect(metadataOf(peer.asked.at(-1) ?? {})).toEqual(headers);
    }
  }
});

// What is far too large ends the connection, for all calls on it. grpc-go's server fails one call instead, if it knows.
test('a peer is told how much metadata is taken', async () => {
  await using greeted = await greetedPeer();
  const settings = await greeted.peer.saw(({ type, flags }) => type === SETTINGS && flags !== ACK);
  const MAX_HEADER_LIST_SIZE = 6;
  expect(settings?.payload.includes(setting(MAX_HEADER_LIST_SIZE, 65_536))).toBe(true);
});
