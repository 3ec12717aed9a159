/** A thread of the tournament: does one piece of work after the other as they are handed to it. */
import { parentPort } from 'node:worker_threads';
import { doJob, type Job } from './tournament-job.js';

const port = parentPort;
if (port === null) throw new Error('arena-worker.js is for worker threads.');

port.on('message', (job: Job) => {
  doJob(job).then(
    (result) => port.postMessage({ result }),
    (error: unknown) => port.postMessage({ error }),
  );
});
