/** DynamoDB for tests and benchmarks: dynalite, in memory, in this process, on 127.0.0.1. */
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {Record<string, unknown>} body
 */

/**
 * Stands before dynalite: sees each request and returns the answer, its own or dynalite's, or undefined to cut the
 * connection.
 *
 * @callback Intercept
 * @param {string} operation `BatchWriteItem`, say.
 * @param {Record<string, unknown>} input
 * @param {(input: Record<string, unknown>) => Promise<Answer>} forward Sends a request on to dynalite.
 * @returns {Promise<Answer | undefined>}
 */

/**
 * What an SDK client needs to reach a service on this machine, and to look for nothing elsewhere.
 *
 * @typedef {object} LocalClientConfig
 * @property {string} endpoint
 * @property {string} region
 * @property {{ accessKeyId: string, secretAccessKey: string }} credentials
 */

/**
 * @typedef {object} Dynalite
 * @property {LocalClientConfig} clientConfig
 * @property {() => Promise<void>} close
 */

/**
 * @param {{ intercept?: Intercept }} [options]
 * @returns {Promise<Dynalite>}
 */
export async function startDynalite({ intercept } = {}) {
  const dynalite = createRequire(import.meta.url)('dynalite');
  /** @type {import('node:http').Server} */
  const server = dynalite({ createTableMs: 0 });
  const servers = [server];
  let port = await listen(server);
  if (intercept !== undefined) {
    const interceptor = interceptorFor(port, intercept);
    servers.unshift(interceptor);
    port = await listen(interceptor);
  }
  return {
    clientConfig: {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'local',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    },
    async close() {
      for (const each of servers) {
        const closed = new Promise((resolve) => each.close(resolve));
        each.closeAllConnections();
        await closed;
      }
    },
  };
}

/**
 * @param {number} port Dynalite's.
 * @param {Intercept} intercept
 */
function interceptorFor(port, intercept) {
  return createServer(async (request, response) => {
    const input = JSON.parse(await textOf(request));
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const answer = await intercept(operation, input, (changed) => forward(port, request, changed));
    if (answer === undefined) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(answer.body));
  });
}

/**
 * @param {number} port
 * @param {import('node:http').IncomingMessage} original
 * @param {Record<string, unknown>} input
 * @returns {Promise<Answer>}
 */
async function forward(port, { headers }, input) {
  const { 'content-length': _length, ...kept } = headers;
  const request = httpRequest({ host: '127.0.0.1', port, method: 'POST', headers: kept, agent: false });
  request.end(JSON.stringify(input));
  const [response] = await once(request, 'response');
  return { status: response.statusCode, body: JSON.parse(await textOf(response)) };
}

/** @param {import('node:http').IncomingMessage} stream */
async function textOf(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** @param {import('node:http').Server} server */
async function listen(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
