/** `npm run bench:proxy`: measures the chosen figures and prints them. */
import { runFigures } from '@batchwise/bench-harness';
import { figures } from './figures.js';

await runFigures({
  about: 'Measures the gRPC batching proxy, side by side with bare node:http2 and @grpc/grpc-js.',
  script: 'bench:proxy',
  figures,
  rounds: 5,
  seconds: 3,
});
