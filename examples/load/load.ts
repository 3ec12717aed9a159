/** The story of a model service under load: batchwise load examples/load/load.ts --users 50 --spawn-rate 10 */
import { between, defineLoad } from '@batchwise/load';

export const load = defineLoad({
  host: 'http://localhost:3000',
  samples: { flowers: '@sample.json' },
  users: {
    visitor: {
      waitTime: between(0.01, 2),
      tasks: {
        classify: (user) =>
          user.post('/classify', {
            json: user.sample('flowers'),
            // Undefined leaves it to the status: 429 is rejected, other errors have failed.
            check: (response) => (response.ok && !response.text().includes('label') ? 'no label' : undefined),
          }),
      },
    },
  },
});
