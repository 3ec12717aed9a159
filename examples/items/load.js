/**
 * Traffic for the example: each caller posts an item, waits for the answer and posts the next.
 *
 *     node examples/items/load.js [callers] [seconds] [url]
 */
import { Agent, request } from 'node:http';

const [callers = '100', seconds = '10', url = 'http://localhost:8000/items/test/1'] = process.argv.slice(2);

const agent = new Agent({ keepAlive: true });
const body = JSON.stringify({ content: 'string', nested: { key: 'string', values: [1, 5, 2] } });
/** @type {number[]} */
const latencies = [];
/** @type {Map<string, number>} */
const failures = new Map();

const startedAt = performance.now();
const endsAt = startedAt + Number(seconds) * 1000;

async function caller() {
  while (performance.now() < endsAt) {
    const postedAt = performance.now();
    const failure = await post();
    if (failure === undefined) latencies.push(performance.now() - postedAt);
    else failures.set(failure, (failures.get(failure) ?? 0) + 1);
  }
}

/** @returns {Promise<string | undefined>} what went wrong, if something did */
function post() {
  return new Promise((resolve) => {
    const call = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } });
    call.on('error', ({ message }) => resolve(message));
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => {
        const answer = JSON.parse(text);
        if (response.statusCode !== 200) resolve(`${response.statusCode} ${answer.title}`);
        else resolve(String(answer.data.nested.values_add1) === '2,6,3' ? undefined : 'a wrong answer');
      });
    });
    call.end(body);
  });
}

await Promise.all(Array.from({ length: Number(callers) }, caller));

const tookMs = performance.now() - startedAt;
latencies.sort((a, b) => a - b);
const at = (/** @type {number} */ share) =>
  (latencies[Math.min(latencies.length - 1, Math.floor(share * latencies.length))] ?? Number.NaN).toFixed(1);
const failed = [...failures.values()].reduce((sum, count) => sum + count, 0);
console.log(
  `${callers} ${callers === '1' ? 'caller' : 'callers'}: ${latencies.length} answers, ${failed} failures, ${((1000 * latencies.length) / tookMs).toFixed(0)} requests/s`,
);
console.log(`latency ms: median ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}`);
for (const [what, count] of failures) console.log(`${count} × ${what}`);
if (failed > 0) process.exitCode = 1;
