/**
 * Does all the work there is, on as many threads as there are processors. What comes out is in the order of
 * the jobs and the same for any number of threads: jobs share nothing.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Clock, realClock } from 'batchwise';
import { doJob, type Job, jobName, type ResultOf } from './tournament-job.js';
import { jobWork } from './tournament-work.js';

export interface TournamentOptions {
  /** How many threads; 0 for none but this one. @default as many as there are processors */
  readonly workers?: number | undefined;
  readonly onProgress?: ((progress: TournamentProgress) => void) | undefined;
  /** For how long it will still take. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

export interface TournamentProgress {
  readonly done: number;
  readonly total: number;
  /** Of the work, from 0 to 1: some jobs take far longer than others. */
  readonly share: number;
  /** About how long it will still take. */
  readonly leftMs: number;
}

export async function tournament<J extends Job>(
  jobs: readonly J[],
  { workers = availableParallelism(), onProgress, clock = realClock }: TournamentOptions = {},
): Promise<ResultOf<J>[]> {
  const results = new Array<ResultOf<J>>(jobs.length);
  // The longest first, or in the end one thread would work alone.
  const queue = jobs
    .map((job, index) => ({ job, index, work: jobWork(job) }))
    .sort((a, b) => b.work - a.work || a.index - b.index);
  const total = queue.reduce((sum, { work }) => sum + work, 0);
  let done = 0;
  let doneWork = 0;
  const startedAt = clock.now();

  const workOff = async (thread: Thread): Promise<void> => {
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { job, index, work } = next;
        results[index] = (await thread.do(job).catch((cause: unknown) => {
          queue.length = 0; // the others need not begin anything new
          throw failed(job, cause);
        })) as ResultOf<J>;
        done += 1;
        doneWork += work;
        const share = doneWork / total;
        const leftMs = ((clock.now() - startedAt) * (total - doneWork)) / doneWork;
        onProgress?.({ done, total: jobs.length, share, leftMs });
      }
    } finally {
      await thread.end();
    }
  };
  const count = Math.min(workers, jobs.length);
  const threads = count === 0 ? [new OwnThread()] : Array.from({ length: count }, () => new WorkerThread());
  await Promise.all(threads.map(workOff));
  return results;
}

/** After the last job, at most; mostly it is done in a few milliseconds. */
const COMPILES_FOR_MS = 200;

interface Thread {
  do(job: Job): Promise<unknown>;
  end(): Promise<unknown>;
}

class OwnThread implements Thread {
  async do(job: Job): Promise<unknown> {
    // Simulations never come up for air by themselves: timers and signals get their turn between them.
    await new Promise((resolve) => setImmediate(resolve));
    return doJob(job);
  }

  async end(): Promise<void> {}
}

class WorkerThread implements Thread {
  // Without the flags of this process: what is meant for its program, as --input-type is, no thread takes.
  readonly #worker = new Worker(new URL('./arena-worker.js', import.meta.url), { execArgv: [] });

  do(job: Job): Promise<unknown> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const settle = (answer: { readonly result?: unknown; readonly error?: unknown }) => {
        worker.off('error', reject);
        if ('error' in answer) reject(answer.error);
        else resolve(answer.result);
      };
      worker.once('message', settle);
      // Out of memory, or a module that cannot be loaded.
      worker.once('error', reject);
      worker.postMessage(job);
    });
  }

  /** Node 20 may crash when a thread ends while V8 still compiles for it, in the background: it is left that time. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      realClock.setTimer(resolve, COMPILES_FOR_MS);
    });
    await this.#worker.terminate();
  }
}

function failed(job: Job, cause: unknown): Error {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new Error(`${jobName(job)}: ${message}`, { cause });
}
