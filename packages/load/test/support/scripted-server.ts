/** An HTTP server whose responses are in the requests: the member `do` of the JSON body names what it does. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export type Script = (request: ReceivedRequest, response: ServerResponse, socket: Socket) => void;

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const raw = (head: string, body: string) => `HTTP/1.1 ${head}\r\n\r\n${body}`;

export const SCRIPTS: Readonly<Record<string, Script>> = {
  ok: (_request, response) => {
    response.setHeader('Batchwise-Batch-Size', '4');
    response.setHeader('batchwise-queue-ms', '1.25');
    response.setHeader('batchwise-compute-ms', '3');
    response.end('{"label":7}');
  },
  otherLabel: (_request, response) => void response.end('{"label":8}'),
  noJson: (_request, response) => void response.end('label 7'),
  closeAfter: (_request, response) => void response.setHeader('connection', 'close').end('{"label":7}'),
  informational: (_request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
    response.end('{"label":7}');
  },
  chunked: (_request, response) => {
    response.write('{"lab');
    setImmediate(() => response.write('el":'));
    setImmediate(() => setImmediate(() => response.end('7}')));
  },
  tooMany: (_request, response) => void response.writeHead(429, { 'retry-after': '1' }).end(),
  unavailable: (_request, response) => void response.writeHead(503).end('draining'),
  longText: (_request, response) => void response.writeHead(500, 'x'.repeat(5000)).end(),
  endless: (_request, response) => {
    const chunk = Buffer.alloc(2 ** 20, ' ');
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    more();
  },
  ownText: (_request, response) => void response.writeHead(500, 'Model Broken').end(),
  reset: (_request, _response, socket) => void socket.resetAndDestroy(),
  end: (_request, _response, socket) => void socket.end(),
  resetInBody: (_request, _response, socket) => {
    socket.write(raw('200 OK\r\ncontent-length: 100', '{"label'), () => socket.resetAndDestroy());
  },
  endInBody: (_request, _response, socket) => {
    socket.end(raw('200 OK\r\ncontent-length: 100', '{"label'));
  },
  shorterThanLength: (_request, _response, socket) => {
    socket.end(raw('200 OK\r\nconnection: close\r\ncontent-length: 100', '{"label":7}'));
  },
  longerThanLength: (_request, _response, socket) => {
    socket.write(raw('200 OK\r\ncontent-length: 11', '{"label":7} and more'));
  },
  noHttp: (_request, _response, socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n'),
  never: () => {},
};

export class ScriptedServer implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: ReturnType<typeof createServer>;
  readonly #sockets = new Set<Socket>();
  #connections = 0;

  private constructor(script: Script, tls: { cert: string; key: string } | undefined) {
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', headers, socket } = request;
        const received = { method, path, headers, body: Buffer.concat(chunks) };
        this.requests.push(received);
        script(received, response, socket);
      });
    };
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    this.#server.on('connection', (socket: Socket) => {
      this.#connections++;
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(
    script: Script = byMember,
    options: { tls?: { cert: string; key: string }; port?: number } = {},
  ): Promise<ScriptedServer> {
    const server = new ScriptedServer(script, options.tls);
    server.#server.listen(options.port ?? 0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/classify`;
  }

  /** That were opened so far. */
  get connections(): number {
    return this.#connections;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function byMember(request: ReceivedRequest, response: ServerResponse, socket: Socket): void {
  const { do: name } = JSON.parse(request.body.toString()) as { do: string };
  const script = SCRIPTS[name];
  if (script === undefined) throw new Error(`no script ${name}`);
  script(request, response, socket);
}
