/** A client that tells apart what others hide: an answer from a connection that was cut. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The part of problem+json that tests look at. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly status: number;
  readonly where?: string;
  readonly retry_after_ms?: number;
}

export interface ClientOptions {
  /** At most so many connections. */
  readonly connections?: number;
}

export class HttpClient {
  readonly port: number;
  readonly #agent: Agent;

  constructor(port: number, { connections = Number.POSITIVE_INFINITY }: ClientOptions = {}) {
    this.port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  get(path: string): Promise<Answer> {
    return this.ask('GET', path);
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
    return this.ask('POST', path, bytes, { 'content-type': 'application/json', ...headers });
  }

  /** Rejects when the connection is lost before the whole answer has come. */
  ask(method: string, path: string, body?: Buffer, headers: Record<string, string> = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(body.length) };
      const asked = request(
        {
          host: '127.0.0.1',
          port: this.port,
          method,
          path,
          agent: this.#agent,
          headers: { ...length, ...headers },
        },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: Buffer.concat(parts),
            }),
          );
        },
      );
      asked.on('error', reject);
      asked.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function jsonOf<T>(answer: Answer): T {
  return JSON.parse(answer.body.toString('utf8')) as T;
}

export function problemIn(answer: Answer): Problem {
  if (answer.headers['content-type'] !== 'application/problem+json')
    throw new Error(`Expected a problem, got ${answer.status} ${answer.body.toString('utf8').slice(0, 200)}`);
  return jsonOf<Problem>(answer);
}
