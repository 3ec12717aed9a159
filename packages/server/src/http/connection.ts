/** What the server remembers of one connection: who on it still waits for an answer. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from 'batchwise';
import type { HttpExchange } from './http-exchange.js';

/** How long a client is listened to after the last word: closed at once, it might not get to read it. */
export const LINGER_MS = 1000;

export class Connection {
  readonly socket: Socket;
  /** Above the limit: its first request is refused. */
  readonly isRefused: boolean;
  /** Not answered yet, oldest first; several when requests are pipelined. */
  readonly unanswered: HttpExchange[] = [];
  /** The last one on this connection, while it is not answered. */
  newest: HttpExchange | undefined;
  /** Its last answer is on the way, or due: what else comes is not looked at. */
  isClosing = false;
  #newestResponse: ServerResponse | undefined;

  constructor(socket: Socket, isRefused: boolean) {
    this.socket = socket;
    this.isRefused = isRefused;
  }

  /** Owes nobody anything: neither an answer nor the rest of one. */
  get isIdle(): boolean {
    return this.unanswered.length === 0 && this.#isFlushed;
  }

  /** In the middle of a body that nobody waits for any more. */
  get isDiscarding(): boolean {
    return this.newest === undefined && this.#newestResponse?.req.complete === false;
  }

  asked(exchange: HttpExchange, response: ServerResponse): void {
    this.unanswered.push(exchange);
    this.newest = exchange;
    this.#newestResponse = response;
  }

  answered(exchange: HttpExchange): void {
    this.unanswered.splice(this.unanswered.indexOf(exchange), 1);
    if (this.newest === exchange) this.newest = undefined;
  }

  /** Answers go out in the order of their requests, so the last word waits for all that are still due. */
  closeWith(lastWord: string, clock: Clock): void {
    this.isClosing = true;
    const hangUp = () => {
      this.socket.end(lastWord);
      const timer = clock.setTimer(() => this.socket.destroy(), LINGER_MS);
      this.socket.once('close', () => clock.clearTimer(timer));
    };
    if (this.#isFlushed) hangUp();
    else this.#newestResponse?.once('finish', hangUp);
  }

  get #isFlushed(): boolean {
    return this.#newestResponse === undefined || this.#newestResponse.writableFinished;
  }
}
