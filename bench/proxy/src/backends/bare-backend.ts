/** A minimal gRPC echo server on node:http2, with a unary method and a batched one, answered after the half-close. */
import { once } from 'node:events';
import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { BATCHED_COMPUTE, COMPUTE, FRAME_BYTES } from '../echo-message.js';
import type { Device } from './device.js';

const HEADERS = { ':status': 200, 'content-type': 'application/grpc' };
const TRAILERS = { 'grpc-status': '0' };
const UNIMPLEMENTED = { ...HEADERS, 'grpc-status': '12', 'grpc-message': 'no such method' };

/** Returns the port. */
export async function bareBackend(device: Device): Promise<number> {
  const server = createServer({ settings: { initialWindowSize: 1 << 20 } });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const path = headers[':path'];
    if (path === COMPUTE || path === BATCHED_COMPUTE) echo(stream, device);
    else stream.respond(UNIMPLEMENTED, { endStream: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A batch is all frames until the half-close, so a unary call is a batch of one. Frames are echoed unchanged. */
function echo(stream: ServerHttp2Stream, device: Device): void {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('end', () => {
    const [first] = chunks;
    const frames = chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
    device.run(frames.length / FRAME_BYTES, () => {
      if (stream.destroyed) return;
      stream.respond(HEADERS, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers(TRAILERS));
      stream.end(frames);
    });
  });
}
