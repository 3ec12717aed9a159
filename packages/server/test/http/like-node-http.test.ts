/**
 * Two readers of the same bytes must not understand different requests: that is how one is smuggled past a proxy. What is
 * taken for a request here, node:http takes for the same one. Here more may be refused, never less.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HttpCall } from '../../src/http/http-route.js';
import { HttpServer } from '../../src/http/http-server.js';

interface Understood {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const PATHS = ['/a', '/b', '/'];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
let byNode: Understood[] = [];
let byOurs: Understood[] = [];
let node: Server;
let nodePort = 0;
let ours: HttpServer;
let ourPort = 0;

beforeAll(async () => {
  const understand = (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    request.setEncoding('latin1').on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      byNode.push({ method, path: path.split('?')[0] as string, headers: { ...headers }, body });
      response.end('ok');
    });
  };
  node = createServer({ requireHostHeader: false }, understand);
  node.on('checkContinue', understand).on('checkExpectation', understand);
  // Not at once: of a whole request before it, the end has not been told yet.
  node.on('clientError', (_error, socket) => setImmediate(() => socket.destroy()));
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  nodePort = (node.address() as AddressInfo).port;

  const handle = (call: HttpCall) => {
    const { method, path, headers, body } = call;
    byOurs.push({ method, path, headers: { ...headers }, body: body.toString('latin1') });
    call.reply(200, {}, 'ok');
  };
  const routes = METHODS.flatMap((method) => PATHS.map((path) => ({ method, path, handle })));
  ours = new HttpServer({ routes, log: () => {} });
  ourPort = (await ours.listen('127.0.0.1', 0)).port;
});

afterAll(async () => {
  node.close();
  await ours.close();
});

/** Sends all of it, piece by piece, and waits until the server has had its say and hung up. */
async function tell(port: number, pieces: readonly Buffer[]): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.resume();
    socket.setNoDelay();
    const send = (at: number): void => {
      if (at >= pieces.length - 1) {
        socket.end(pieces[at] as Buffer);
      } else {
        socket.write(pieces[at] as Buffer);
        setImmediate(send, at + 1);
      }
    };
    socket.once('connect', () => send(0));
  });
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = cuts.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i]));
}

const blank = fc.constantFrom('', ' ', '  ', '\t', ' \t');
const lineEnd = fc.oneof(
  { weight: 60, arbitrary: fc.constant('\r\n') },
  { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '\n\r\n', '') },
);
const headerName = fc.constantFrom(
  'host',
  'Host',
  'x',
  'X-Y',
  'accept',
  'cookie',
  'content-type',
  'content-length',
  'Content-Length',
  'transfer-encoding',
  'Transfer-Encoding',
  'connection',
  'expect',
  'upgrade',
  ...Array<string>(10).fill('a'),
  'x y',
  '',
);
const headerValue = fc.constantFrom(
  '',
  'a',
  'a b',
  '0',
  '1',
  '3',
  '5',
  '05',
  '+3',
  '-1',
  '3, 3',
  '1e1',
  '0x3',
  '3\t',
  'chunked',
  'Chunked',
  'chunked, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'chunked,',
  ',chunked',
  'chunked;q=1',
  '"chunked"',
  'xchunked',
  'chunked\x80',
  'identity',
  ' chunked',
  'close',
  'keep-alive',
  'upgrade',
  'h2c',
  '100-continue',
  'é',
  'a\0b',
  'a\x0bb',
  '"a\tb"',
);
const header = fc
  .tuple(
    headerName,
    blank,
    fc.constantFrom(...Array<string>(20).fill(':'), ' :', ''),
    blank,
    headerValue,
    blank,
    lineEnd,
  )
  .map(([name, _before, colon, space, value, after, end]) => `${name}${colon}${space}${value}${after}${end}`);
const requestLine = fc
  .tuple(
    fc.constantFrom(...METHODS, 'get', 'G', ''),
    fc.constantFrom(' ', ' ', ' ', '  ', '\t'),
    fc.constantFrom('/a', '/b', '/', '/a?q=1', '/a#f', 'a', '*', '/\x7f', '/é', ''),
    fc.constantFrom(' ', ' ', ' ', '  ', ''),
    fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', ''),
    lineEnd,
  )
  .map((parts) => parts.join(''));
const chunk = fc
  .tuple(
    fc.constantFrom(
      '1',
      '3',
      '03',
      '0',
      'a',
      '3;x',
      '3;x=y',
      '3;x="a;b"',
      '3;x="a',
      '3;x="\\""',
      '3;',
      '3;;x',
      '3;x=',
      '3; x',
      '3;x y',
      '3;x\0',
      '3 ',
      '3\t;x',
      ' 3',
      '0x3',
      '-1',
      'fffffffffffffffff',
      '',
    ),
    lineEnd,
    fc.constantFrom('abc', 'a', '', 'abcdefghij'),
    lineEnd,
  )
  .map((parts) => parts.join(''));
const ODD_ENDS = [
  '0;x\r\n\r\n',
  '0\r\ncontent-length: 5\r\n\r\n',
  '0\r\ntransfer-encoding: chunked\r\n\r\n',
  '0\r\nx\r\n\r\n',
  '0\r\n x: y\r\n\r\n',
  '0\r\nx: y\r\n z\r\n\r\n',
  '0\r\nx : y\r\n\r\n',
  '0\r\nx: y\n\r\n',
];
const body = fc.oneof(
  fc.constantFrom('', 'abc', 'a', 'abcde', 'GET /b HTTP/1.1\r\nhost: x\r\n\r\n'),
  fc.array(chunk, { maxLength: 3 }).map((chunks) => chunks.join('')),
  fc
    .tuple(
      fc.array(chunk, { maxLength: 2 }),
      fc.constantFrom('0\r\n\r\n', '0\r\nx: y\r\n\r\n', '0\r\n', '0\n\n', '00\r\n\r\n', ...ODD_ENDS),
    )
    .map(([chunks, end]) => chunks.join('') + end),
);
/** Good in most of its parts, so that what is odd in one of them is reached. */
const plainHead = fc.constantFrom(
  'GET /a HTTP/1.1\r\nhost: x\r\n',
  'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n',
  'POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n',
);
const oddHead = fc
  .tuple(requestLine, fc.array(header, { maxLength: 4 }))
  .map(([line, headers]) => `${line}host: x\r\n${headers.join('')}`);
const message = fc
  .tuple(
    fc.constantFrom(...Array<string>(10).fill(''), '\r\n', '\n'),
    fc.oneof({ weight: 5, arbitrary: plainHead }, { weight: 1, arbitrary: oddHead }),
    fc.array(header, { maxLength: 2 }),
    lineEnd,
    body,
  )
  .map(([before, head, headers, end, rest]) => `${before}${head}${headers.join('')}${end}${rest}`);
/** One part of it may be odd. */
const soundMessage = fc
  .tuple(
    fc.constantFrom(
      ['GET /a HTTP/1.1\r\nhost: x\r\n', ''],
      ['POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n', 'abc'],
      ['POST /b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n', '3\r\nabc\r\n1;x\r\na\r\n0\r\n\r\n'],
    ),
    fc.array(header, { maxLength: 1 }),
  )
  .map(([[head, rest], headers]) => `${head}${headers.join('')}\r\n${rest}`);
const bytes = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: soundMessage }, message), { minLength: 1, maxLength: 3 }),
    fc.option(fc.tuple(fc.nat(), fc.nat(255)), { freq: 3 }),
  )
  .map(([messages, flip]) => {
    const all = Buffer.from(messages.join(''), 'latin1');
    if (flip !== null && all.length > 0) all[flip[0] % all.length] = flip[1];
    return all;
  });

test('what is taken for a request here, node:http takes for the same', async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(), { maxLength: 3 }), async (sent, cuts) => {
      byNode = [];
      byOurs = [];
      const pieces = cut(sent, cuts);
      await Promise.all([tell(nodePort, pieces), tell(ourPort, pieces)]);
      taken += byOurs.length;
      // What has no route here is answered, but recorded only there.
      const routed = byNode.filter(({ path }) => PATHS.includes(path));
      expect(routed.slice(0, byOurs.length)).toEqual(byOurs);
    }),
    { numRuns: 600 },
  );
  // The property is not true for want of requests.
  expect(taken).toBeGreaterThan(100);
});
