/**
 * A client process over HTTP/1.1: so many connections, kept alive, one request under way on each, in the Open
 * Inference Protocol with binary tensors. On bare sockets, as a load generator should cost little beside what it
 * loads: `node http-load.mjs '{"port":…,"callers":…,"startAt":…,"timedMs":…}'`.
 */
import { connect } from 'node:net';
import { Callers, newRow, ROW_BYTES } from './callers.mjs';

const options = JSON.parse(process.argv[2]);
const callers = new Callers(options);
const PATH = '/v2/models/minilm/infer';
const HEADER = JSON.stringify({
  inputs: [
    { name: 'input_ids', shape: [1, 64], datatype: 'INT64', parameters: { binary_data_size: ROW_BYTES } },
  ],
  outputs: [{ name: 'embedding', parameters: { binary_data: true } }],
});
const PREFIX = Buffer.from(
  [
    `POST ${PATH} HTTP/1.1`,
    `host: 127.0.0.1:${options.port}`,
    'content-type: application/octet-stream',
    `inference-header-content-length: ${HEADER.length}`,
    `content-length: ${HEADER.length + ROW_BYTES}`,
    '',
    HEADER,
  ].join('\r\n'),
);
const END_OF_HEAD = '\r\n\r\n';

for (let count = 0; count < options.callers; count++) open();
callers.end();

function open() {
  const request = Buffer.concat([PREFIX, newRow()]);
  const socket = connect(options.port, '127.0.0.1');
  socket.setNoDelay(true);
  let number = 0;
  let sentAt = 0;
  let received = Buffer.alloc(0);

  function ask() {
    number = callers.nextNumber();
    request.writeUInt32LE(number, PREFIX.length);
    sentAt = performance.now();
    // A copy: the socket may not have taken all of it when the next is written.
    socket.write(Buffer.from(request));
  }

  socket.on('connect', ask);
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    const bodyAt = received.indexOf(END_OF_HEAD) + END_OF_HEAD.length;
    if (bodyAt < END_OF_HEAD.length) return;
    const head = received.latin1Slice(0, bodyAt).toLowerCase();
    const length = numberOf(head, 'content-length');
    if (received.length < bodyAt + length) return;
    if (head.startsWith('http/1.1 200')) {
      const tensorAt = bodyAt + numberOf(head, 'inference-header-content-length');
      callers.answered(
        sentAt,
        received.readFloatLE(tensorAt) === number,
        numberOf(head, 'batchwise-batch-size'),
      );
    } else {
      callers.failed(`${head.slice(9, 12)} ${received.toString('utf8', bodyAt).slice(0, 200)}`);
    }
    received = received.subarray(bodyAt + length);
    if (!callers.isOver) ask();
  });
  socket.on('error', (error) => callers.failed(error.message));
}

/** The value of a header line, 0 where there is none; the name begins a line. */
function numberOf(head, name) {
  const at = head.indexOf(`\n${name}: `);
  return at < 0 ? 0 : Number.parseInt(head.slice(at + name.length + 3, at + name.length + 20), 10);
}
