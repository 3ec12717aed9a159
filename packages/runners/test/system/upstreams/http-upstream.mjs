/**
 * A model server over HTTP without code of this package: /v2 with JSON, and :predict. Doubles its rows; the first
 * value may request another behaviour. Reports on stdout, one line per event.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const [port = '0'] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${line}\n`);
const METADATA = {
  name: 'double',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
};

const onRequest = (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => answer(request, response, Buffer.concat(chunks)));
  response.on('close', () => {
    if (!response.writableFinished) say('closed');
  });
};

/** With TLS_FOLDER: TLS with client certificates. */
function makeServer() {
  const { TLS_FOLDER: folder } = process.env;
  if (folder === undefined) return createServer(onRequest);
  const cert = readFileSync(`${folder}/cert.pem`);
  const key = readFileSync(`${folder}/key.pem`);
  return createTlsServer({ cert, key, ca: cert, requestCert: true, rejectUnauthorized: true }, onRequest);
}

function answer({ url, method, headers }, response, body) {
  const reply = (status, value, more = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...more });
    response.end(JSON.stringify(value));
  };
  if (method === 'GET') {
    if (url === '/v2/models/double/ready') return reply(200, { ready: true });
    if (url === '/v2/models/double') return reply(200, METADATA);
    return reply(404, { error: `no ${url}` });
  }
  const head = Number(headers['inference-header-content-length'] ?? body.length);
  const { inputs, instances } = JSON.parse(body.subarray(0, head).toString());
  if (instances !== undefined) {
    say(`predict ${instances.length}`);
    if (instances.includes('bad')) return reply(400, { error: 'bad is not allowed' });
    if (instances.includes('short')) return reply(200, { predictions: [] });
    return reply(200, { predictions: instances.map((text) => `${text}!`) });
  }
  const isBinary = head < body.length;
  const values = isBinary
    ? new Float32Array(new Uint8Array(body.subarray(head)).buffer)
    : Float32Array.from(inputs[0].data);
  say(`infer ${inputs[0].shape[0]} ${isBinary ? 'binary' : 'json'} ${headers['batchwise-timeout-ms']}`);
  if (values.includes(-1)) return reply(400, { error: 'minus one is not allowed' });
  if (values.includes(-2)) return reply(500, { error: 'minus two' });
  if (values.includes(-3)) return reply(503, { error: 'loading' }, { 'retry-after': '3' });
  if (values.includes(-4)) return response.destroy();
  if (values.includes(-5)) return response.end('<html>hello</html>');
  if (values.includes(-6)) return undefined; // hangs
  if (values.includes(-7)) {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('{"outputs":');
    return setImmediate(() => response.destroy());
  }
  const output = { name: 'y', datatype: 'FP32', shape: inputs[0].shape };
  const doubles = values.map((value) => 2 * value);
  if (!isBinary) return reply(200, { outputs: [{ ...output, data: [...doubles] }] });
  const json = Buffer.from(
    JSON.stringify({ outputs: [{ ...output, parameters: { binary_data_size: doubles.byteLength } }] }),
  );
  response.writeHead(200, { 'inference-header-content-length': String(json.length) });
  return response.end(Buffer.concat([json, Buffer.from(doubles.buffer)]));
}

const server = makeServer();
server.listen(Number(port), '127.0.0.1', () => say(`listening ${server.address().port}`));
