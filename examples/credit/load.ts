/** Applicants under load: batchwise load examples/credit/load.ts --users 50 --spawn-rate 10 --time 60s */
import { between, defineLoad } from '@batchwise/load';

export const load = defineLoad({
  host: 'http://localhost:3000',
  samples: { applicants: '@applicants.json' },
  // A response that takes longer than a second is a failure.
  timeoutMs: 1000,
  users: {
    applicant: {
      waitTime: between(0.01, 2),
      tasks: { classify: (user) => user.post('/classify', { json: user.sample('applicants') }) },
    },
  },
});
