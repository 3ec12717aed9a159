/** What the service answers. */
import { z } from 'zod';

export const Decision = z.object({
  status: z.enum(['approved', 'maybe', 'declined']),
  default_probability: z.number(),
});

export function decisionOf(defaultProbability: number): z.infer<typeof Decision> {
  const status = defaultProbability > 0.5 ? 'declined' : defaultProbability > 0.25 ? 'maybe' : 'approved';
  return { status, default_probability: defaultProbability };
}
