/**
 * The hop process: `node bare-hop.js <backend's port>`. A minimal proxy on node:http2 that forwards every call
 * separately: the overhead of a process in between, without batching.
 */
import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { listen, send } from './side.js';

const [target = ''] = process.argv.slice(2);
const upstream = connect(`http://127.0.0.1:${target}`);
await once(upstream, 'connect');

const server = createServer({ settings: { initialWindowSize: 1 << 20 } });
server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => forward(stream, String(headers[':path']), Buffer.concat(chunks)));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

function forward(stream: ServerHttp2Stream, path: string, frame: Buffer): void {
  const call = upstream.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const chunks: Buffer[] = [];
  let status = '13';
  call.on('error', () => {});
  call.on('data', (chunk: Buffer) => chunks.push(chunk));
  call.on('trailers', (trailers) => {
    status = String(trailers['grpc-status']);
  });
  call.on('close', () => {
    if (stream.destroyed) return;
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }));
    stream.end(Buffer.concat(chunks));
  });
  call.end(frame);
}

listen({});
send({ type: 'ready', port: (server.address() as AddressInfo).port });
