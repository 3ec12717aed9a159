/** Whether several URLs can be copies of one backend. */

import { shownUrl } from './shown-url.js';
import type { UpstreamAddress } from './upstream-address.js';

export interface CopyProblem {
  /** Of the one that does not fit. */
  readonly index: number;
  /** What was expected, what came. */
  readonly message: string;
}

/** The first that does not fit those before it; undefined when all do. */
export function copyProblem(addresses: readonly UpstreamAddress[]): CopyProblem | undefined {
  const [first] = addresses;
  for (const [index, address] of addresses.entries()) {
    if (first === undefined || index === 0) continue;
    const both = `got ${shownUrl(first.url)} and ${shownUrl(address.url)}.`;
    if (address.kind !== first.kind) return { index, message: `expected upstreams of one kind, ${both}` };
    if (askedFor(address) !== askedFor(first))
      return { index, message: `expected copies of one backend, which have the same path, ${both}` };
    if (addresses.findIndex(({ url }) => url === address.url) < index)
      return { index, message: `expected each once, got ${shownUrl(address.url)} again.` };
  }
  return undefined;
}

/** What a copy must have in common. Functions over HTTP may be anywhere. */
function askedFor(address: UpstreamAddress): string {
  switch (address.kind) {
    case 'grpc-model':
    case 'http-model':
      return JSON.stringify([address.model, address.version]);
    case 'grpc-stream':
      return address.path;
    case 'predict':
      return '';
  }
}
