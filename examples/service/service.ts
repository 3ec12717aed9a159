/** Two models and the code around them: batchwise serve examples/service/service.ts */
import { defineService, onnx } from '@batchwise/server';
import { z } from 'zod';

const SPECIES = ['setosa', 'versicolor', 'virginica'] as const;

const centimetres = z.number().positive().max(50);

const Flower = z
  .object({
    sepal_length: centimetres,
    sepal_width: centimetres,
    petal_length: centimetres,
    petal_width: centimetres,
  })
  .meta({ examples: [{ sepal_length: 6.5, sepal_width: 3.2, petal_length: 5.1, petal_width: 2 }] });

const Species = z.object({
  label: z.enum(SPECIES),
  probabilities: z.object({ setosa: z.number(), versicolor: z.number(), virginica: z.number() }),
});

const ONE = [
  [0, 0, 0.25, 1, 0.94, 0.25, 0, 0],
  [0, 0, 0.5, 1, 1, 0.25, 0, 0],
  [0, 0, 0.75, 1, 0.81, 0, 0, 0],
  [0, 0.13, 1, 1, 0.63, 0, 0, 0],
  [0, 0.19, 1, 1, 0.5, 0, 0, 0],
  [0, 0.13, 1, 1, 0.75, 0, 0, 0],
  [0, 0, 0.56, 1, 1, 0.25, 0, 0],
  [0, 0, 0.19, 0.75, 0.88, 0.69, 0, 0],
];

const Image = z
  .array(z.array(z.number().min(0).max(1)).length(8))
  .length(8)
  .meta({ description: 'Eight rows of eight pixels, 0 for white to 1 for black.', examples: [ONE] });

const Digit = z.object({ label: z.int().min(0).max(9), probability: z.number() });

export const service = defineService({
  name: 'Flowers and digits',
  runners: {
    iris: onnx<number[], number[]>('../../models/iris.onnx', { batchable: true }),
    digits: onnx<number[][][], number[]>('../../models/digits.onnx', { batchable: true }),
  },
  routes: (route) => [
    route.post('/classify', {
      summary: 'Tell the species of a flower from its measures',
      input: Flower,
      output: Species,
      handler: async (flower, { runners }) => speciesOf(await runners.iris.predict(measuresOf(flower))),
    }),

    route.post('/both', {
      summary: 'Tell the species of a flower and read a digit, by two models at the same time',
      description: 'Each model batches for itself, with whatever else is asked of it at the moment.',
      input: z.object({ flower: Flower, image: Image }),
      output: z.object({ flower: Species, digit: Digit }),
      handler: async ({ flower, image }, { runners }) => {
        const [species, digit] = await Promise.all([
          runners.iris.predict(measuresOf(flower)),
          runners.digits.predict([image]),
        ]);
        return { flower: speciesOf(species), digit: digitOf(digit) };
      },
    }),
  ],
});

function measuresOf(flower: z.infer<typeof Flower>): number[] {
  return [flower.sepal_length, flower.sepal_width, flower.petal_length, flower.petal_width];
}

function speciesOf([setosa = 0, versicolor = 0, virginica = 0]: number[]): z.infer<typeof Species> {
  const probabilities = { setosa, versicolor, virginica };
  return { label: SPECIES[largest([setosa, versicolor, virginica])] ?? 'setosa', probabilities };
}

function digitOf(probabilities: number[]): z.infer<typeof Digit> {
  const label = largest(probabilities);
  return { label, probability: probabilities[label] ?? 0 };
}

function largest(values: number[]): number {
  return values.indexOf(Math.max(...values));
}
