/**
 * A whole server in this process, of the flags in the first argument, and a probe of its event loop. Controlled
 * by messages of its parent: `start` begins a measurement, `stop` ends it and answers with the longest turn.
 */
import { openSync, readSync } from 'node:fs';
import { loadConfig } from '../../dist/config/load-config.js';
import { serve } from '../../dist/serve.js';

const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const line = Buffer.alloc(64);

/** CPU time of the main thread alone: neither other processes nor threads of this one change it. */
function cpuMs() {
  const length = readSync(schedstat, line, 0, line.length, 0);
  return Number.parseInt(line.toString('latin1', 0, length), 10) / 1e6;
}

let isMeasuring = false;
let longestMs = 0;
let lastMs = 0;

/** Once a turn of the event loop. */
function look() {
  const now = cpuMs();
  longestMs = Math.max(longestMs, now - lastMs);
  lastMs = now;
  if (isMeasuring) setImmediate(look);
  else process.send({ longestMs, rssBytes: process.memoryUsage.rss() });
}

process.on('message', (message) => {
  if (message === 'stop') {
    isMeasuring = false;
    return;
  }
  isMeasuring = true;
  longestMs = 0;
  lastMs = cpuMs();
  setImmediate(look);
});
process.on('disconnect', () => process.exit());

/** How fast this machine is at the moment: the least CPU time of a fixed amount of work of the usual kind. */
function calibrationMs() {
  const text = JSON.stringify(Array.from({ length: 100_000 }, (_, index) => ({ index })));
  let leastMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = cpuMs();
    JSON.stringify(JSON.parse(text));
    leastMs = Math.min(leastMs, cpuMs() - start);
  }
  return leastMs;
}

const { flags, file } = JSON.parse(process.argv[2]);
const server = await serve({
  load: (runnerNames) => loadConfig({ flags, file, runnerNames }),
  log: (text) => console.error(text),
});
process.send({ address: server.address, calibrationMs: calibrationMs() });
