/**
 * The processor process of a contender: `node processor.js <contender> <url> <milliseconds a batch>`. Writes
 * `ready` to stdout when it is; ends with SIGTERM, its report on stdout.
 */
import { CountedHandler } from './batch-handler.js';
import { contenderNamed } from './contenders.js';

const [name = '', url = '', batchMs = '0'] = process.argv.slice(2);
const contender = await contenderNamed(name);
const handler = new CountedHandler(Number(batchMs));
const processor = await contender.process(url, handler.handle);

process.once('SIGTERM', async () => {
  await processor.close();
  process.stdout.write(`${JSON.stringify(handler.report())}\n`, () => process.exit(0));
});
process.stdout.write('ready\n');
