/**
 * Requests over connections that are kept, and the time of each. On plain sockets: with node:http this side took
 * as much CPU as the server, and its garbage collections were among the slowest answers that it measured.
 */
import { connect, type Socket } from 'node:net';

export interface Answer {
  /** 0 when there was none. */
  readonly status: number;
  readonly ms: number;
}

interface Sent {
  readonly startedAt: number;
  resolve(answer: Answer): void;
}

export class Client {
  readonly #port: number;
  readonly #request: Buffer;
  readonly #maxConnections: number;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  /** For a connection, of which there are as many as may be. */
  readonly #waiting: Sent[] = [];

  constructor(url: string, body: string, maxConnections: number) {
    const { host, pathname, port } = new URL(url);
    this.#port = Number(port);
    this.#maxConnections = maxConnections;
    this.#request = Buffer.from(
      `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }

  send(): Promise<Answer> {
    return new Promise((resolve) => this.#send({ startedAt: performance.now(), resolve }));
  }

  close(): void {
    for (const connection of this.#open) connection.destroy();
  }

  #send(sent: Sent): void {
    // The one that was used last: those at the other end may be about to be closed as idle.
    const idle = this.#idle.pop();
    if (idle !== undefined) idle.send(sent);
    else if (this.#open.size < this.#maxConnections) this.#connect().send(sent);
    else this.#waiting.push(sent);
  }

  #connect(): Connection {
    const connection = new Connection(this.#port, this.#request, {
      free: () => {
        const next = this.#waiting.shift();
        if (next === undefined) this.#idle.push(connection);
        else connection.send(next);
      },
      closed: () => {
        this.#open.delete(connection);
        const at = this.#idle.indexOf(connection);
        if (at >= 0) this.#idle.splice(at, 1);
        const next = this.#waiting.shift();
        if (next !== undefined) this.#send(next);
      },
    });
    this.#open.add(connection);
    return connection;
  }
}

/** One request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #request: Buffer;
  #sent: Sent | undefined;
  #received = '';

  constructor(port: number, request: Buffer, events: { free(): void; closed(): void }) {
    this.#request = request;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', () => {}); // is followed by its close
    this.#socket.on('close', () => {
      this.#settle(0);
      events.closed();
    });
    this.#socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      if (!isWhole(this.#received)) return;
      const status = Number(this.#received.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
      this.#received = '';
      this.#settle(status);
      if (!this.#socket.destroyed) events.free();
    });
  }

  send(sent: Sent): void {
    this.#sent = sent;
    this.#socket.write(this.#request);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #settle(status: number): void {
    const sent = this.#sent;
    this.#sent = undefined;
    sent?.resolve({ status, ms: performance.now() - sent.startedAt });
  }
}

/** The server says of every answer how long it is. */
function isWhole(answer: string): boolean {
  const headEnd = answer.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(answer)?.[1];
  return answer.length >= headEnd + 4 + Number(length);
}
