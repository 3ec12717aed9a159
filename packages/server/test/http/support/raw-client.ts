/** A client that sends exactly the bytes it is told to, and reads what comes. */
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

export class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #isClosed = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    // Being cut off is one of the things that tests look for.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    const client = new RawClient(socket);
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return client;
  }

  send(bytes: string | Buffer): this {
    this.socket.write(bytes);
    return this;
  }

  /** Whatever has come and is not read yet. */
  get unread(): string {
    return this.#received.toString('latin1');
  }

  async answer(options: { readonly isToHead?: boolean } = {}): Promise<RawAnswer> {
    for (;;) {
      const answer = this.#take(options.isToHead ?? false);
      if (answer !== undefined) return answer;
      if (this.#isClosed)
        throw new Error(`Closed without an answer; what came: ${JSON.stringify(this.unread)}`);
      await this.#more();
    }
  }

  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#more();
  }

  hangUp(): void {
    this.socket.destroy();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(isToHead: boolean): RawAnswer | undefined {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [first = '', ...lines] = this.#received.subarray(0, end).toString('latin1').split('\r\n');
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const status = Number(first.split(' ')[1]);
    const length = isToHead || status < 200 ? 0 : Number(headers.get('content-length') ?? 0);
    const bodyAt = end + 4;
    if (this.#received.length < bodyAt + length) return undefined;
    const body = this.#received.subarray(bodyAt, bodyAt + length).toString('utf8');
    this.#received = this.#received.subarray(bodyAt + length);
    return { status, headers, body };
  }
}

export function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: test\r\n${headers}\r\n`;
}

export function post(path: string, body: string | Buffer, headers = ''): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: test\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}
