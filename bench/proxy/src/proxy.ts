/** The proxy process: `node proxy.js <backend's port> <options of its method as JSON>`. */
import { startProxy } from '@batchwise/proxy';
import { COMPUTE } from './echo-message.js';
import { listen, send } from './side.js';

const [target = '', method = '{}'] = process.argv.slice(2);
const proxy = await startProxy({
  port: 0,
  adminPort: false,
  targets: [`127.0.0.1:${target}`],
  methods: [{ method: COMPUTE, ...JSON.parse(method) }],
  log: (line) => void process.stderr.write(`${line}\n`),
});

listen({});
send({ type: 'ready', port: proxy.address.port });
