/** Credit scoring, with batches: batchwise serve examples/credit/service.ts */
import { defineService, onnx } from '@batchwise/server';
import { Applicant, featuresOf } from './applicant.js';
import { creditModel } from './credit-model.js';
import { Decision, decisionOf } from './decision.js';

export const service = defineService({
  name: 'Credit scoring',
  runners: { credit: onnx<number[], number[]>(await creditModel(), { batchable: true }) },
  routes: (route) => [
    route.post('/classify', {
      summary: 'Decide on an application for credit',
      input: Applicant,
      output: Decision,
      handler: async (applicant, { runners }) => {
        const [defaultProbability = 0] = await runners.credit.predict(featuresOf(applicant));
        return decisionOf(defaultProbability);
      },
    }),
  ],
});
