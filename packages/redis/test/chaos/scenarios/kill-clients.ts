/** Web processes are killed with requests under way: in the end nothing is left of them in Redis. */
import { eventually } from '../../support/eventually.js';
import { Ledger } from '../../support/ledger.js';
import { startRedis } from '../../support/redis-server.js';
import { AnswerWatch } from '../answer-watch.js';
import type { ChaosReport, Progress } from '../chaos-report.js';
import { type Program, startWeb } from '../start-program.js';
import { TestQueue } from '../test-queue.js';

export interface KillClientsOptions {
  readonly kills: number;
  readonly concurrent: number;
}

interface Told {
  readonly event: 'submitted' | 'settled';
  readonly id: string;
  readonly outcome: string;
}

export async function killClients(
  { kills, concurrent }: KillClientsOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis();
  const queue = new TestQueue(redis.url);
  const watch = await AnswerWatch.start(redis.port);
  const ledger = new Ledger();
  const options = { url: redis.url, queue: queue.queue, clientTtlMs: 500, concurrent };
  let running: Program | undefined;
  try {
    const processor = queue.processor({ leaseMs: 1000, maxBatchSize: 16 });
    const first = queue.client();
    await first.submit({ id: 0 });
    await first.close();
    const { keys } = queue.inspector;
    await eventually(
      'the rate to be known',
      async () => (await queue.inspector.send('GET', keys.rate)) !== null,
    );
    // A client that closes leaves nothing behind.
    const baseline = await queue.inspector.allKeys();

    for (let kill = 1; kill <= kills; kill += 1) {
      const web = await startWeb({ ...options, name: `web${kill}` });
      running = web;
      const answered = (told: Told) => told.event === 'settled' && told.outcome === 'answered';
      await web.child.until(answered);
      await web.child.kill();
      enter(web, ledger);
      progress(kill, kills);
    }
    const wrong = baseline
      .filter((key) => /:(client|replies):/.test(key))
      .map((key) => `left by close(): ${key}`);
    let left: string[] = [];
    const isClean = async () => {
      left = (await queue.inspector.allKeys()).filter((key) => !baseline.includes(key));
      return left.length === 0;
    };
    await eventually('the keys of dead clients to be gone', isClean, 10_000).catch(() => {
      wrong.push(`left by the dead: ${left.join(', ')}`);
    });
    await eventually('the queue to be empty', async () => (await queue.inspector.outstanding()) === 0);
    await processor.close();
    if ((await queue.inspector.pending()) > 0) wrong.push('items are pending that nobody holds');
    return {
      requests: ledger.count('answered') + ledger.count('died with its process'),
      outcomes: ledger.outcomes,
      figures: { kills, 'keys left': left.length, 'answers written': watch.written },
      wrong: [...wrong, ...ledger.audit(), ...(await watch.audit(ledger.count('answered')))],
    };
  } finally {
    await running?.child.kill();
    await watch[Symbol.asyncDispose]();
    await queue[Symbol.asyncDispose]();
    await redis.stop();
  }
}

/** What it told before its end; the rest has died with it. */
function enter({ child }: Program, ledger: Ledger): void {
  const open = new Set<string>();
  for (const told of child.messages as readonly Told[]) {
    if (told.event === 'submitted') {
      ledger.submitted(told.id);
      open.add(told.id);
    } else if (told.event === 'settled') {
      ledger.settled(told.id, told.outcome);
      open.delete(told.id);
    }
  }
  for (const id of open) ledger.settled(id, 'died with its process');
}
