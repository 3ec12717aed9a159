/** `batchwise proxy` as its users start it: the built command in a process of its own, on free ports. */
import { HttpClient } from './http-client.js';
import { until } from './until.js';
import { Working, type WorkingOptions } from './working.js';

export class Proxying {
  readonly command: Working;
  readonly port: number;
  readonly adminPort: number;

  private constructor(command: Working) {
    this.command = command;
    this.port = numberIn(command.stdout, /proxies gRPC at \S+:(\d+)/);
    this.adminPort = numberIn(command.stdout, /admin +http:\/\/\S+:(\d+)/);
  }

  /** Once it takes calls. Gone when the test is over. */
  static async start(args: readonly string[], options?: WorkingOptions): Promise<Proxying> {
    const command = new Working(['proxy', '--port=0', '--admin-port=0', ...args], options);
    await until(() => command.stdout.includes('Ctrl-C') || command.hasEnded, 'the proxy has started');
    if (command.hasEnded) throw new Error(`The proxy did not start:\n${command.stderr}`);
    return new Proxying(command);
  }

  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const client = new HttpClient(this.adminPort);
    try {
      const { status, body } = await client.get(path);
      return { status, text: body.toString() };
    } finally {
      client.close();
    }
  }

  /** Until so many calls wait for a batch. */
  async holds(calls: number): Promise<void> {
    const depth = new RegExp(`^batchwise_queue_depth\\{[^}]*\\} ${calls}$`, 'm');
    await until(async () => depth.test((await this.get('/metrics')).text), `${calls} calls wait`);
  }
}

function numberIn(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1] ?? Number.NaN);
}
