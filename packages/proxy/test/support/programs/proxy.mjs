/** The built proxy in a separate process, for attacks. Reports its port and its memory. */
import { startProxy } from '@batchwise/proxy';

const proxy = await startProxy({
  port: 0,
  adminPort: false,
  log: (line) => process.stderr.write(`${line}\n`),
  ...JSON.parse(process.argv[2] ?? '{}'),
});
process.send({ type: 'listening', port: proxy.address.port });
process.on('message', () => {
  // Twice: the second collection frees the objects that the first one finalized.
  globalThis.gc?.();
  globalThis.gc?.();
  process.send({ type: 'memory', ...process.memoryUsage(), peakRss: process.resourceUsage().maxRSS * 1024 });
});
process.on('disconnect', () => process.exit());
