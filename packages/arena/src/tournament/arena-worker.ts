/** A worker thread of the tournament: runs the jobs that it receives, one at a time. */
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
