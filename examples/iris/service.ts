/** The iris classifier behind one route: batchwise serve -c examples/iris/configuration.yml examples/iris/service.ts */
import { defineService, onnx } from '@batchwise/server';
import { z } from 'zod';

const SPECIES = ['setosa', 'versicolor', 'virginica'] as const;

const Measures = z
  .array(z.number().positive())
  .length(4)
  .meta({
    description: 'Sepal length, sepal width, petal length and petal width, in centimetres.',
    examples: [[6.5, 3.2, 5.1, 2]],
  });

export const service = defineService({
  name: 'Iris',
  runners: {
    // The signature of the model: requests may share a batch, along the first dimension of input and output.
    iris_clf: onnx<number[], number[]>('../../models/iris.onnx', { batchable: true, batchDim: [0, 0] }),
  },
  routes: (route) => [
    route.post('/classify', {
      summary: 'Classify a flower by its measures',
      input: Measures,
      output: z.object({ species: z.enum(SPECIES), probability: z.number() }),
      handler: async (measures, { runners }) => {
        const probabilities = await runners.iris_clf.predict(measures);
        const probability = Math.max(...probabilities);
        return { species: SPECIES[probabilities.indexOf(probability)] ?? 'setosa', probability };
      },
    }),
  ],
});
