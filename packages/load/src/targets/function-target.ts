/** A function in this process, as a target: for a batcher or a model without a server around it. */
import { errorOutcome } from './error-outcome.js';
import { InFlight } from './in-flight.js';
import type { Outcome, Target } from './target.js';

const OK: Outcome = { kind: 'ok', responseBytes: 0 };

/** `call` gets the number of the request. A promise that is rejected is a request that is rejected or failed. */
export function functionTarget(name: string, call: (number: number) => unknown): Target {
  const inFlight = new InFlight();
  return {
    name,
    connections: 0,
    prepare: async () => {},
    close: async () => inFlight.stop(),
    send(number, done) {
      const end = inFlight.begin(done);
      let result: unknown;
      try {
        result = call(number);
      } catch (error) {
        end(errorOutcome(error));
        return;
      }
      Promise.resolve(result).then(
        () => end(OK),
        (error: unknown) => end(errorOutcome(error)),
      );
    },
  };
}
