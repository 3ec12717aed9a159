/**
 * Sees every answer that is written in Redis, whoever writes it and whoever reads it or not: by MONITOR. A caller that
 * hears only one answer proves little, as its client ignores a second one.
 */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { eventually } from '../support/eventually.js';

export class AnswerWatch implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #answers = new Map<string, number>();
  #written = 0;

  static async start(port: number): Promise<AnswerWatch> {
    const socket = createConnection({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    const watch = new AnswerWatch(socket);
    socket.write('MONITOR\r\n');
    await once(socket, 'data');
    return watch;
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    createInterface({ input: socket }).on('line', (line) => this.#read(line));
  }

  /** How many answers were written, dead letters included. */
  get written(): number {
    return this.#written;
  }

  /** What is wrong, a sentence each, once it has seen as many answers as callers did: a watch that is blind finds nothing. */
  async audit(answered: number): Promise<string[]> {
    await eventually(
      `${answered} answers, of which ${this.#written} were seen`,
      () => this.#written >= answered,
    );
    return [...this.#answers]
      .filter(([, count]) => count > 1)
      .map(([who, count]) => `${who} was answered ${count} times in Redis`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
  }

  #read(line: string): void {
    // 1339518083.107412 [0 lua] "XADD" "batchwise:{q}:replies:json-…" "*" "a" "[[1,{\"id\":1}]]"
    const match = / lua\] "XADD" "[^"]*:replies:([^"]+)" "\*" "(a|dead)" "(.*?)"(?: "t" "[^"]*")?$/.exec(
      line,
    );
    if (match === null) return;
    const [, client, kind, value = ''] = match;
    const numbers =
      kind === 'a'
        ? (JSON.parse(JSON.parse(`"${escaped(value)}"`)) as [number][]).map(([number]) => number)
        : [Number(value.split(' ', 1)[0])];
    for (const number of numbers) {
      const who = `${client} ${number}`;
      this.#written += 1;
      this.#answers.set(who, (this.#answers.get(who) ?? 0) + 1);
    }
  }
}

/** Redis writes bytes that are no ASCII as \xff; JSON has no such thing, and the items of these tests no such bytes. */
function escaped(value: string): string {
  return value.replace(/\\x[0-9a-f]{2}/g, '?');
}
