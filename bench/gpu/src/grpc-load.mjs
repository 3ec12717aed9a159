/**
 * A client process over gRPC on bare node:http2: so many unary calls of /bench.Encoder/Compute under way over a
 * few connections: `node grpc-load.mjs '{"port":…,"callers":…,"startAt":…,"timedMs":…}'`.
 */
import { connect } from 'node:http2';
import { Callers, newRow, ROW_BYTES } from './callers.mjs';

const options = JSON.parse(process.argv[2]);
const callers = new Callers(options);
const PREFIX_BYTES = 5;
/** Streams on one connection: below what servers allow by default. */
const STREAMS = 64;
const HEADERS = {
  ':method': 'POST',
  ':path': '/bench.Encoder/Compute',
  'content-type': 'application/grpc',
  te: 'trailers',
};

for (let first = 0; first < options.callers; first += STREAMS) {
  const session = connect(`http://127.0.0.1:${options.port}`);
  session.on('error', (error) => callers.failed(error.message));
  session.on('connect', () => {
    for (let count = first; count < Math.min(options.callers, first + STREAMS); count++) ask(session);
  });
}
callers.end();

function ask(session) {
  const number = callers.nextNumber();
  const frame = Buffer.concat([Buffer.alloc(PREFIX_BYTES), newRow()]);
  frame.writeUInt32BE(ROW_BYTES, 1);
  frame.writeUInt32LE(number, PREFIX_BYTES);
  const sentAt = performance.now();
  const stream = session.request(HEADERS);
  const chunks = [];
  let status = 'no status';
  stream.on('response', (headers) => {
    if (headers['grpc-status'] !== undefined) status = `${headers['grpc-status']} ${headers['grpc-message']}`;
  });
  stream.on('trailers', (trailers) => {
    status = trailers['grpc-status'] === '0' ? '0' : `${trailers['grpc-status']} ${trailers['grpc-message']}`;
  });
  stream.on('data', (chunk) => chunks.push(chunk));
  stream.on('error', (error) => {
    status = error.message;
  });
  stream.on('close', () => {
    const answer = Buffer.concat(chunks);
    if (status !== '0' || answer.length < PREFIX_BYTES + 4) callers.failed(status);
    else callers.answered(sentAt, answer.readFloatLE(PREFIX_BYTES) === number, 0);
    if (!callers.isOver && !session.closed) ask(session);
  });
  stream.end(frame);
}
