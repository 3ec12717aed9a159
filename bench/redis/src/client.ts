/** The client process of a contender: `node client.js <contender> <url> <load as JSON>`; the report on stdout. */
import { limitMs } from '@batchwise/bench-harness';
import { closedLoop, type Load } from './closed-loop.js';
import { contenderNamed } from './contenders.js';

const CLOSE_WITHIN_MS = 5000;

const [name = '', url = '', load = ''] = process.argv.slice(2);
const contender = await contenderNamed(name);
const client = await contender.connect(url);
const report = await closedLoop(client, JSON.parse(load) as Load);
// Told before closing: a client that lost a request may wait for it forever.
process.stdout.write(`${JSON.stringify(report)}\n`);
await Promise.race([client.close(), limitMs(CLOSE_WITHIN_MS)]);
process.exit(0);
