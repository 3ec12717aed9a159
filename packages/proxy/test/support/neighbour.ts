/** An honest client next to a hostile one: all of its calls must be answered correctly. */
import { expect } from 'vitest';
import { grpcClient } from './grpc-client.js';

export async function besidesANeighbour(port: number, abuse: () => Promise<void>): Promise<void> {
  const client = grpcClient(port);
  let isOver = false;
  let answered = 0;
  const neighbour = (async () => {
    while (!isOver || answered < 10) {
      const message = `neighbour ${answered}`;
      const { status, message: why, answer } = await client.call(message, { deadline: Date.now() + 300_000 });
      expect({ status, why: status === 0 ? '' : why, answer: String(answer) }).toEqual({
        status: 0,
        why: '',
        answer: message,
      });
      answered += 1;
    }
  })();
  try {
    await Promise.race([abuse(), neighbour]);
  } finally {
    isOver = true;
    await neighbour;
  }
}
