/** Ctrl-C during a search: the first ends the search with its current result, the second ends the process. */
import { endingSignals } from '../terminal/ending-signals.js';

export function interruption(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const signals = endingSignals();
  void signals.first.then(() => controller.abort());
  void signals.second.then(() => process.exit(130));
  return { signal: controller.signal, stop: () => signals.stop() };
}
