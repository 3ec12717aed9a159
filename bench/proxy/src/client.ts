/** The client process: `node client.js <http2 | grpc-js> <port> <load as JSON>`. */

import type { Caller } from './caller.js';
import type { Load } from './load.js';
import { startLoad } from './loads/start-load.js';
import { Tally } from './loads/tally.js';
import { listen, send } from './side.js';

/** Enough for V8 to compile the code; the same number for each contender, however long they take. */
const HEAT_REQUESTS = 20_000;
const HEAT: Load = { kind: 'closed', callers: 64, warmupMs: 0, timedMs: 0 };

const [kind = '', port = '', text = ''] = process.argv.slice(2);

// Before the connection: the listener keeps the process alive if the client library does not.
listen({
  async heat() {
    const tally = new Tally(await connected);
    startLoad(HEAT, tally);
    await tally.runUntil(HEAT_REQUESTS);
    send({ type: 'heated' });
  },
  async begin() {
    const load = JSON.parse(text) as Load;
    const tally = new Tally(await connected);
    startLoad(load, tally);
    const report = await tally.run(load, () => send({ type: 'timed' }));
    send({ type: 'load', report });
  },
});
const connected = connect();
await connected;
send({ type: 'ready', port: 0 });

async function connect(): Promise<Caller> {
  return kind === 'grpc-js'
    ? (await import('./callers/grpc-js-caller.js')).grpcJsCaller(Number(port))
    : (await import('./callers/http2-caller.js')).http2Caller(Number(port));
}
