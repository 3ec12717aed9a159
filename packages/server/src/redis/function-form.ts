/** Items and results of a function travel as they are. */
import type { RequestForm } from './request-form.js';

export function functionForm(payload: 'json' | 'msgpack' = 'json'): RequestForm<unknown, unknown> {
  return {
    kind: 'function',
    platform: 'function',
    payload,
    load: async () => undefined,
    enter: (item, _settings, sink, send) =>
      send(item, {
        // In which batch it was, and for how long, only its processor knows.
        resolve: (result, stayMs) => sink.resolve(result, { batchSize: 1, queueMs: stayMs, computeMs: 0 }),
        reject: (error) => sink.reject(error),
      }),
  };
}
