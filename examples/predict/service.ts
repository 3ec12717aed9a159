/** One model behind two routes: batchwise serve examples/predict/service.ts */
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';
import { LARGEST_BATCH, predict } from './model.js';

const Row = z
  .array(z.number())
  .min(1)
  .meta({ examples: [[1, 2, 3]] });
const Prediction = z.object({ prediction: z.number() });

export const service = defineService({
  name: 'Predict',
  runners: {
    // One prediction at a time.
    model: fn(predict, { thread: true }),
    // The same model, with a batch at a time.
    batched_model: fn(predict, { thread: true, batchable: true, batching: { maxBatchSize: LARGEST_BATCH } }),
  },
  routes: (route) => [
    route.post('/predict', {
      input: Row,
      output: Prediction,
      handler: async (row, { runners }) => ({ prediction: await runners.model.predict(row) }),
    }),
    route.post('/optimized_predict', {
      input: Row,
      output: Prediction,
      handler: async (row, { runners }) => ({ prediction: await runners.batched_model.predict(row) }),
    }),
  ],
});
