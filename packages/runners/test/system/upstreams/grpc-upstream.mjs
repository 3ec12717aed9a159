/**
 * A model server on @grpc/grpc-js and its proto loader. Doubles its rows; the first value of the first row may
 * request another behaviour. Reports on stdout, one line per event.
 *
 *     node grpc-upstream.mjs <port> [typed]
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const [port = '0', form = 'raw'] = process.argv.slice(2);
const proto = fileURLToPath(new URL('../../../../server/proto/inference.proto', import.meta.url));
const { 'inference.GRPCInferenceService': service } = loadSync(proto, { keepCase: true, longs: Number });
const say = (line) => process.stdout.write(`${line}\n`);

const methods = {
  ModelReady: (_, callback) => callback(null, { ready: true }),
  ModelMetadata: ({ request }, callback) =>
    callback(null, {
      name: request.name,
      versions: ['1'],
      platform: 'test',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
    }),
  ModelInfer(call, callback) {
    const { model_name, inputs, raw_input_contents } = call.request;
    const bytes = new Uint8Array(raw_input_contents[0]);
    const values = new Float32Array(bytes.buffer);
    const [rows] = inputs[0].shape;
    say(`infer ${model_name} ${rows} ${[...values].filter((_, i) => i % 2 === 0)}`);
    const fail = (code, details, metadata) => callback({ code, details, metadata });
    const pushback = new Metadata();
    pushback.set('grpc-retry-pushback-ms', '1500');
    if (values.includes(-1)) return fail(status.INVALID_ARGUMENT, 'minus one is not allowed');
    if (values.includes(-2)) return fail(status.UNKNOWN, 'Exception calling application: minus two');
    if (values.includes(-3)) return fail(status.UNAVAILABLE, 'the GPU is gone');
    if (values.includes(-4)) return fail(status.RESOURCE_EXHAUSTED, 'too busy', pushback);
    if (values.includes(-5)) process.exit(1);
    if (values.includes(-6)) {
      call.on('cancelled', () => say('cancelled'));
      return undefined; // hangs
    }
    const isShort = values.includes(-7);
    const results = values.map((value) => 2 * value).subarray(isShort ? 2 : 0);
    const output = { name: 'y', datatype: 'FP32', shape: [isShort ? rows - 1 : rows, 2] };
    const isTyped = form === 'typed';
    if (isTyped) output.contents = { fp32_contents: [...results] };
    const raw = Buffer.from(results.buffer, results.byteOffset, results.byteLength);
    callback(null, { model_name, outputs: [output], raw_output_contents: isTyped ? [] : [raw] });
    return undefined;
  },
};

/** With TLS_FOLDER: TLS with client certificates. */
function ownCredentials() {
  const { TLS_FOLDER: folder } = process.env;
  if (folder === undefined) return ServerCredentials.createInsecure();
  const pair = {
    cert_chain: readFileSync(`${folder}/cert.pem`),
    private_key: readFileSync(`${folder}/key.pem`),
  };
  return ServerCredentials.createSsl(pair.cert_chain, [pair], true);
}

const server = new Server();
server.addService(service, methods);
server.bindAsync(`127.0.0.1:${port}`, ownCredentials(), (error, bound) => {
  if (error) throw error;
  say(`listening ${bound}`);
});
