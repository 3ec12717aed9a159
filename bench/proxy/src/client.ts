/** The client process: `node client.js <http2 | grpc-js> <port> <load as JSON>`. */

import type { Caller } from './caller.js';
import type { Load } from './load.js';
import { startLoad } from './loads/start-load.js';
import { Tally } from './loads/tally.js';
import { listen, tell } from './side.js';

/** Enough for V8 to have compiled what they run through; as many for each contender, however long it takes. */
const HEAT_REQUESTS = 20_000;
const HEAT: Load = { kind: 'closed', callers: 64, warmupMs: 0, timedMs: 0 };

const [kind = '', port = '', text = ''] = process.argv.slice(2);

// First of all: listening is what keeps the process alive while a client connects that does not.
listen({
  async heat() {
    const tally = new Tally(await connected);
    startLoad(HEAT, tally);
    await tally.runUntil(HEAT_REQUESTS);
    tell({ type: 'heated' });
  },
  async begin() {
    const load = JSON.parse(text) as Load;
    const tally = new Tally(await connected);
    startLoad(load, tally);
    const report = await tally.run(load, () => tell({ type: 'timed' }));
    tell({ type: 'load', report });
  },
});
const connected = connect();
await connected;
tell({ type: 'ready', port: 0 });

async function connect(): Promise<Caller> {
  return kind === 'grpc-js'
    ? (await import('./callers/grpc-js-caller.js')).grpcJsCaller(Number(port))
    : (await import('./callers/http2-caller.js')).http2Caller(Number(port));
}
