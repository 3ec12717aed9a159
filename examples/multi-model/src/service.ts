/** Two models behind one route: `npx batchwise serve examples/multi-model/src/service.ts` */
import { defineService, fn } from '@batchwise/server';
import { z } from 'zod';
import { largeModel } from './large-model.js';

const SPECIES = ['setosa', 'versicolor', 'virginica'];

const Input = z.object({
  flower: z.array(z.number()).meta({ description: 'Four lengths in centimetres.' }),
  image: z.array(z.number()).meta({ description: '64 pixels, 0 to 1.' }),
});
const Answer = z.object({ species: z.string(), digit: z.int() });
const PartialAnswer = z.object({
  species: z.string().nullable(),
  digit: z.int().nullable(),
  errors: z.array(z.string()),
});

export const service = defineService({
  name: 'Two models',
  runners: {
    // Each runner has a queue and batches of its own.
    iris: fn(largeModel('iris', { shape: [4], batchMs: 20 }), { batchable: true }),
    digits: fn(largeModel('digits', { shape: [1, 8, 8], batchMs: 30 }), { batchable: true }),
  },
  routes: (route) => [
    route.post('/together', {
      summary: 'Both models at the same time',
      input: Input,
      output: Answer,
      handler: async ({ flower, image }, { runners }) => {
        const [species, digit] = await Promise.all([
          runners.iris.predict(flower),
          runners.digits.predict(image),
        ]);
        return { species: speciesOf(species), digit: digitOf(digit) };
      },
    }),

    route.post('/in-turn', {
      summary: 'One model after the other',
      input: Input,
      output: Answer,
      handler: async ({ flower, image }, { runners }) => {
        const species = await runners.iris.predict(flower);
        const digit = await runners.digits.predict(image);
        return { species: speciesOf(species), digit: digitOf(digit) };
      },
    }),

    route.post('/partial', {
      summary: 'Both models at the same time; the answer of one if the other fails',
      input: Input,
      output: PartialAnswer,
      handler: async ({ flower, image }, { runners }) => {
        const [species, digit] = await Promise.allSettled([
          runners.iris.predict(flower),
          runners.digits.predict(image),
        ]);
        return {
          species: species.status === 'fulfilled' ? speciesOf(species.value) : null,
          digit: digit.status === 'fulfilled' ? digitOf(digit.value) : null,
          errors: [species, digit].flatMap((outcome) =>
            outcome.status === 'rejected' ? [String(outcome.reason.message)] : [],
          ),
        };
      },
    }),
  ],
});

function speciesOf(probabilities: number[]): string {
  return SPECIES[largest(probabilities)] ?? 'unknown';
}

function digitOf(probabilities: number[]): number {
  return largest(probabilities);
}

function largest(values: number[]): number {
  return values.indexOf(Math.max(...values));
}
