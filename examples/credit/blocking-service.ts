/**
 * The same service without a runner: the route calls the model itself. `session.run` computes on the thread of the
 * caller, so that the process does nothing else meanwhile, and requests are served one after the other.
 */
import { defineService } from '@batchwise/server';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { Applicant, featuresOf } from './applicant.js';
import { creditModel } from './credit-model.js';
import { Decision, decisionOf } from './decision.js';

const session = await InferenceSession.create(await creditModel(), { intraOpNumThreads: 1 });

export const service = defineService({
  name: 'Credit scoring, blocking',
  runners: {},
  routes: (route) => [
    route.post('/classify', {
      summary: 'Decide on an application for credit',
      input: Applicant,
      output: Decision,
      handler: async (applicant) => {
        const features = featuresOf(applicant);
        const { y } = await session.run({ x: new Tensor('float32', features, [1, features.length]) });
        return decisionOf(Number(y?.data[0]));
      },
    }),
  ],
});
