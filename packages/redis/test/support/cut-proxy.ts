/**
 * A bad network in front of Redis: connections that break at the worst moment, stand still, or are refused.
 * Commands are passed on whole, so that one which is cut off afterwards was carried out.
 */
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';
import { RespCommands } from './resp-commands.js';

/** A text that the command's bytes contain (a name, a script's sha, a key), or a look at them. */
export type CommandMatch = string | ((command: Buffer) => boolean);

export async function startCutProxy(targetPort: number): Promise<CutProxy> {
  for (let attempt = 1; ; attempt += 1) {
    const proxy = new CutProxy(await freePort(), targetPort);
    try {
      await proxy.refuse(false);
      return proxy;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

interface Link {
  readonly client: Socket;
  readonly redis: Socket;
  /** Set when the client is not to see another answer. */
  swallowed: Plan | undefined;
}

interface Plan {
  readonly when: 'before' | 'after';
  readonly matches: CommandMatch;
  readonly done: () => void;
}

export class CutProxy implements AsyncDisposable {
  readonly port: number;
  readonly url: string;
  #targetPort: number;
  readonly #links = new Set<Link>();
  #plans: Plan[] = [];
  #listener: Server | undefined;
  #holds: CommandMatch = () => false;
  #isPaused = false;
  #cuts = 0;

  /** Not listening yet: see `startCutProxy()`. */
  constructor(port: number, targetPort: number) {
    this.port = port;
    this.#targetPort = targetPort;
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** New connections lead to this port from now on, those that are open end: a failover. */
  leadTo(targetPort: number): void {
    this.#targetPort = targetPort;
    this.cut();
  }

  /** How many are open now. */
  get connections(): number {
    return [...this.#links].filter(({ client }) => !client.destroyed).length;
  }

  /** How many connections were cut so far, one way or the other. */
  get cuts(): number {
    return this.#cuts;
  }

  /** All connections, now. What was on its way may or may not have been carried out. */
  cut(): void {
    for (const link of this.#links) this.#sever(link);
  }

  /**
   * The next command that matches (any, if not told) reaches Redis and is carried out; the answer is lost, with
   * the connection. Called several times, it goes for as many commands. Resolves when Redis is done with it.
   */
  cutAfterWrite(matches: CommandMatch = anyCommand): Promise<void> {
    return new Promise((done) => this.#plans.push({ when: 'after', matches, done }));
  }

  /** The next command that matches does not reach Redis; the connection ends instead. */
  cutBeforeWrite(matches: CommandMatch = anyCommand): Promise<void> {
    return new Promise((done) => this.#plans.push({ when: 'before', matches, done }));
  }

  /** Takes back what `cutAfterWrite()` and `cutBeforeWrite()` have not got to do yet. */
  forgetCuts(): void {
    this.#plans = [];
  }

  /** Bytes are held, both ways, of new connections too: until `resume()`. */
  pause(): void {
    this.#isPaused = true;
    for (const { client, redis } of this.#links) for (const socket of [client, redis]) socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#holds = () => false;
    for (const { client, redis } of this.#links) for (const socket of [client, redis]) socket.resume();
  }

  /** Where such a command is sent from now on, nothing that Redis says comes through any more: until `resume()`. */
  holdAnswersTo(matches: CommandMatch): void {
    this.#holds = matches;
  }

  /** New connections are refused, as if nobody listened; those that are open stay. */
  async refuse(isRefusing: boolean): Promise<void> {
    if (isRefusing) {
      // Does not call back before the last connection is closed, but stops listening at once.
      this.#listener?.close();
      this.#listener = undefined;
    } else if (this.#listener === undefined) {
      const listener = createServer((client) => this.#connect(client));
      listener.listen(this.port, '127.0.0.1');
      await once(listener, 'listening');
      this.#listener = listener;
    }
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    this.forgetCuts();
    const closed = listener && once(listener, 'close');
    listener?.close();
    for (const { client, redis } of this.#links) {
      client.destroy();
      redis.destroy();
    }
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #connect(client: Socket): void {
    const redis = createConnection({ host: '127.0.0.1', port: this.#targetPort });
    const link: Link = { client, redis, swallowed: undefined };
    this.#links.add(link);
    const commands = new RespCommands();
    for (const socket of [client, redis]) {
      socket.setNoDelay(true);
      // An error is followed by 'close', which is all that matters here.
      socket.on('error', () => {});
      if (this.#isPaused) socket.pause();
    }
    client.on('data', (bytes) => this.#forward(link, commands.push(bytes)));
    redis.on('data', (bytes) => {
      if (link.swallowed) this.#loseAnswer(link);
      else if (!client.destroyed) client.write(bytes);
    });
    // Not destroyed: Redis gets to read what the client sent before it left.
    client.on('close', () => redis.end());
    redis.on('close', () => {
      this.#links.delete(link);
      client.destroy();
      link.swallowed?.done();
    });
  }

  #forward(link: Link, commands: readonly Buffer[]): void {
    for (const command of commands) {
      const plan = this.#plans.find(({ matches }) => isMatch(matches, command));
      if (plan && link.swallowed === undefined) {
        this.#plans = this.#plans.filter((other) => other !== plan);
        if (plan.when === 'before') {
          this.#sever(link);
          plan.done();
          return;
        }
        link.swallowed = plan;
      }
      link.redis.write(command);
      if (isMatch(this.#holds, command)) link.redis.pause();
    }
  }

  /**
   * The answer may be that to a command before it. So Redis' side is not destroyed, which could take bytes with it
   * that are unread, but ended: Redis reads to the end, and carries out what it reads, before it closes.
   */
  #loseAnswer({ client }: Link): void {
    if (client.destroyed) return;
    this.#cuts += 1;
    client.destroy();
  }

  #sever({ client, redis }: Link): void {
    if (!client.destroyed) this.#cuts += 1;
    client.destroy();
    redis.destroy();
  }
}

function anyCommand(): boolean {
  return true;
}

function isMatch(matches: CommandMatch, command: Buffer): boolean {
  return typeof matches === 'string' ? command.includes(matches) : matches(command);
}
