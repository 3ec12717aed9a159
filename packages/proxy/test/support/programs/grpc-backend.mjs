/**
 * A backend of @grpc/grpc-js with messages as bytes: `Compute` and `BatchedCompute`, which echo, one method of each other
 * kind, health and reflection. Reports every batch and every cancellation to the test.
 */
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';

const { port = 0, tls, options = {}, proto } = JSON.parse(process.argv[2] ?? '{}');
const identity = (bytes) => bytes;
const method = (name, requestStream, responseStream) => ({
  path: `/test.Echo/${name}`,
  requestStream,
  responseStream,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
});

const server = new Server({ 'grpc.max_receive_message_length': -1, ...options });
server.addService(
  {
    Compute: method('Compute', false, false),
    BatchedCompute: method('BatchedCompute', true, true),
    Other: method('Other', false, false),
    Collect: method('Collect', true, false),
    Repeat: method('Repeat', false, true),
    Chat: method('Chat', true, true),
    Fail: method('Fail', false, false),
  },
  {
    Compute(call, callback) {
      report({ type: 'unary', method: 'Compute' });
      callback(null, call.request);
    },
    BatchedCompute(call) {
      const items = [];
      call.on('data', (item) => items.push(item));
      call.on('cancelled', () => report({ type: 'cancelled', items: items.length }));
      call.on('end', () => {
        const deadline = call.getDeadline();
        report({
          type: 'batch',
          size: items.length,
          metadata: call.metadata.toJSON(),
          deadline: deadline === Infinity ? null : Number(deadline),
        });
        for (const item of items) call.write(item);
        call.end();
      });
    },
    Other(call, callback) {
      report({ type: 'unary', method: 'Other', metadata: call.metadata.toJSON() });
      const headers = new Metadata();
      headers.set('header-back', 'yes');
      call.sendMetadata(headers);
      const trailers = new Metadata();
      trailers.set('trailer-back-bin', Buffer.from([0, 255, 10]));
      callback(null, call.request, trailers);
    },
    Collect(call, callback) {
      const items = [];
      call.on('data', (item) => items.push(item));
      call.on('end', () => callback(null, Buffer.concat(items)));
    },
    /** The first byte is the number of answers. */
    Repeat(call) {
      for (let left = call.request[0]; left > 0; left -= 1) call.write(call.request.subarray(1));
      call.end();
    },
    Chat(call) {
      call.on('data', (item) => call.write(item));
      call.on('cancelled', () => report({ type: 'chat cancelled' }));
      call.on('end', () => call.end());
    },
    Fail(_call, callback) {
      const metadata = new Metadata();
      metadata.set('grpc-status-details-bin', Buffer.from('the details'));
      callback({ code: status.FAILED_PRECONDITION, details: 'not todäy', metadata });
    },
  },
);
server.addService(
  {
    Check: { ...method('Check', false, false), path: '/grpc.health.v1.Health/Check' },
  },
  { Check: (_call, callback) => callback(null, Buffer.from([8, 1])) },
);
if (proto !== undefined) new ReflectionService(loadSync(proto)).addToServer(server);

server.bindAsync(`127.0.0.1:${port}`, credentials(), (error, bound) => {
  if (error !== null) throw error;
  report({ type: 'listening', port: bound });
});

function credentials() {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const { cert, key, clientCa } = tls;
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const ca = clientCa === undefined ? null : Buffer.from(clientCa);
  return ServerCredentials.createSsl(ca, [pair], ca !== null);
}

function report(message) {
  if (process.connected) process.send(message);
}
