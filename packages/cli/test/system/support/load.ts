/** Clients who ask again as soon as they are answered, each over a connection of its own. */
import { type Answer, HttpClient, problemIn } from './http-client.js';
import { until } from './until.js';

/** One request and what became of it. */
export interface Outcome {
  readonly client: number;
  /** When it was sent, as the test has named that time. */
  readonly phase: string;
  /** 0 when the connection was lost before an answer came. */
  readonly status: number;
  /** Of a problem, or of the lost connection. */
  readonly code: string;
  readonly answer: Answer | undefined;
}

export interface LoadOptions {
  readonly clients?: number;
  /** Asks once; throws where an answer with 200 is not the right one. */
  readonly ask: (client: HttpClient, number: number) => Promise<Answer>;
}

/** Between tries that fail, so that they do not keep the machine from what the test waits for. */
const PAUSE_MS = 5;

export class Load {
  readonly outcomes: Outcome[] = [];
  phase = 'before';
  sent = 0;
  readonly #ask: LoadOptions['ask'];
  readonly #clients: HttpClient[] = [];
  readonly #asking: Promise<void>[] = [];
  #isOver = false;

  constructor(port: number, { clients = 8, ask }: LoadOptions) {
    this.#ask = ask;
    for (let client = 0; client < clients; client += 1) {
      const http = new HttpClient(port, { connections: 1 });
      this.#clients.push(http);
      const asking = this.#keepAsking(http, client);
      asking.catch(() => {});
      this.#asking.push(asking);
    }
  }

  /** So many more with 200 of every client. */
  async more(count: number): Promise<void> {
    const from = this.outcomes.length;
    await until(
      () => {
        const answered = this.outcomes.slice(from).filter(({ status }) => status === 200);
        return this.#clients.every((_, i) => answered.filter(({ client }) => client === i).length >= count);
      },
      `${count} more answers for each client; there were ${JSON.stringify(this.statuses(from))}`,
    );
  }

  /** How many of which status. */
  statuses(from = 0): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { status, code } of this.outcomes.slice(from)) {
      const key = code === '' ? String(status) : `${status} ${code}`;
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  }

  /** When all that was asked has an outcome. */
  async end(): Promise<void> {
    this.#isOver = true;
    try {
      await Promise.all(this.#asking);
    } finally {
      for (const client of this.#clients) client.close();
    }
  }

  async #keepAsking(http: HttpClient, client: number): Promise<void> {
    while (!this.#isOver) {
      this.sent += 1;
      const { phase } = this;
      const outcome = await this.#outcome(http, this.sent);
      this.outcomes.push({ client, phase, ...outcome });
      if (outcome.status !== 200) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #outcome(http: HttpClient, number: number): Promise<Pick<Outcome, 'status' | 'code' | 'answer'>> {
    let answer: Answer;
    try {
      answer = await this.#ask(http, number);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!/^E[A-Z]+$/.test(code)) throw error;
      return { status: 0, code, answer: undefined };
    }
    const { status } = answer;
    return { status, code: status === 200 ? '' : problemIn(answer).code, answer };
  }
}
