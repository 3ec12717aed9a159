/**
 * Runs jobs on all processors. Results are in the order of the jobs and the same for any number of threads: jobs share
 * no state.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type Clock, realClock } from 'batchwise';
import { doJob, type Job, jobName, type ResultOf } from './tournament-job.js';
import { jobWork } from './tournament-work.js';

export interface TournamentOptions {
  /** Number of worker threads; 0 runs all jobs in the calling thread. @default the number of processors */
  readonly workers?: number | undefined;
  readonly onProgress?: ((progress: TournamentProgress) => void) | undefined;
  /** For the estimate of the remaining time. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

export interface TournamentProgress {
  readonly done: number;
  readonly total: number;
  /** Share of the estimated work, from 0 to 1. */
  readonly share: number;
  /** Estimated remaining time. */
  readonly leftMs: number;
}

export async function tournament<J extends Job>(
  jobs: readonly J[],
  { workers = availableParallelism(), onProgress, clock = realClock }: TournamentOptions = {},
): Promise<ResultOf<J>[]> {
  const results = new Array<ResultOf<J>>(jobs.length);
  // The longest first, so that all threads are busy until the end.
  const queue = jobs
    .map((job, index) => ({ job, index, work: jobWork(job) }))
    .sort((a, b) => b.work - a.work || a.index - b.index);
  const total = queue.reduce((sum, { work }) => sum + work, 0);
  let done = 0;
  let doneWork = 0;
  const startedAt = clock.now();

  const runJobs = async (thread: Thread): Promise<void> => {
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { job, index, work } = next;
        results[index] = (await thread.do(job).catch((cause: unknown) => {
          queue.length = 0; // the other threads begin no further jobs
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
  const threads =
    count === 0 ? [new CallingThread()] : Array.from({ length: count }, () => new WorkerThread());
  await Promise.all(threads.map(runJobs));
  return results;
}

/** Time for V8 to complete background compilation, which usually takes a few milliseconds. */
const COMPILATION_MS = 200;

interface Thread {
  do(job: Job): Promise<unknown>;
  end(): Promise<unknown>;
}

class CallingThread implements Thread {
  async do(job: Job): Promise<unknown> {
    // A simulation never yields to the event loop: timers and signals run between jobs.
    await new Promise((resolve) => setImmediate(resolve));
    return doJob(job);
  }

  async end(): Promise<void> {}
}

class WorkerThread implements Thread {
  // Without the flags of this process: flags such as --input-type are not valid for worker threads.
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
      // Out of memory, or the module cannot be loaded.
      worker.once('error', reject);
      worker.postMessage(job);
    });
  }

  /** Node 20 may crash when a thread ends during background compilation of V8. */
  async end(): Promise<void> {
    await new Promise<void>((resolve) => {
      realClock.setTimer(resolve, COMPILATION_MS);
    });
    await this.#worker.terminate();
  }
}

function failed(job: Job, cause: unknown): Error {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new Error(`${jobName(job)}: ${message}`, { cause });
}
