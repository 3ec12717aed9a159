/** Asks the service of the fixtures where it runs. */
import { expect } from 'vitest';
import { type Answer, type HttpClient, jsonOf } from './http-client.js';
import { Load, type LoadOptions } from './load.js';
import type { Serving } from './serving.js';

export interface Place {
  readonly number: number;
  readonly runner: number;
  readonly web: number;
  /** How many were in the batch. */
  readonly company: number;
}

export const placeIn = (answer: Answer): Place => jsonOf<Place>(answer);

export async function askWhere(client: HttpClient, number: number): Promise<Answer> {
  const answer = await client.post('/where', { number });
  // Never somebody else's.
  if (answer.status === 200) expect(placeIn(answer).number).toBe(number);
  return answer;
}

export function placesLoad(serving: Serving, options: Partial<LoadOptions> = {}): Load {
  return new Load(serving.port, { ask: askWhere, ...options });
}

export function placesOf(load: Load, from = 0): Place[] {
  const answered = load.outcomes.slice(from).filter(({ status }) => status === 200);
  return answered.map(({ answer }) => placeIn(answer as Answer));
}
