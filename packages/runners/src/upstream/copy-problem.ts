/** Checks whether several URLs can be copies of one backend. */

import { shownUrl, type UpstreamAddress } from './upstream-address.js';

export interface CopyProblem {
  /** The index of the first URL that does not fit. */
  readonly index: number;
  /** The expected and the given value. */
  readonly message: string;
}

/** Returns the first URL that does not fit the URLs before it, or undefined. */
export function copyProblem(addresses: readonly UpstreamAddress[]): CopyProblem | undefined {
  const [first] = addresses;
  for (const [index, address] of addresses.entries()) {
    if (first === undefined || index === 0) continue;
    const both = `got ${shownUrl(first.url)} and ${shownUrl(address.url)}.`;
    if (address.kind !== first.kind) return { index, message: `expected upstreams of one kind, ${both}` };
    if (identityOf(address) !== identityOf(first))
      return { index, message: `expected copies of one backend, which have the same path, ${both}` };
    if (addresses.findIndex(({ url }) => url === address.url) < index)
      return { index, message: `expected each URL once, got ${shownUrl(address.url)} twice.` };
  }
  return undefined;
}

/** What all copies must have in common. Functions over HTTP and sockets may have different paths. */
function identityOf(address: UpstreamAddress): string {
  switch (address.kind) {
    case 'grpc-model':
    case 'http-model':
      return JSON.stringify([address.model, address.version]);
    case 'grpc-stream':
      return address.path;
    case 'predict':
    case 'unix-model':
      return '';
  }
}
