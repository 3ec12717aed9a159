/** The built proxy in a process of its own, to be watched and abused. Says where it listens and how large it is. */
import { startProxy } from '@batchwise/proxy';

const proxy = await startProxy({
  port: 0,
  adminPort: false,
  log: (line) => process.stderr.write(`${line}\n`),
  ...JSON.parse(process.argv[2] ?? '{}'),
});
process.send({ type: 'listening', port: proxy.address.port });
process.on('message', () => {
  // Twice: what the first one finalizes only the second one frees.
  globalThis.gc?.();
  globalThis.gc?.();
  process.send({ type: 'memory', ...process.memoryUsage(), peakRss: process.resourceUsage().maxRSS * 1024 });
});
process.on('disconnect', () => process.exit());
