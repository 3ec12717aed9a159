/** Asks sentinels which node is the master at the moment. */
import { BatchwiseError } from 'batchwise';
import { Informants } from './informants.js';
import type { Locate } from './line.js';
import type { Reply } from './link.js';
import type { Address, NodeOptions } from './node-connection.js';

export function sentinelLocator(sentinels: readonly Address[], master: string, node: NodeOptions): Locate {
  const informants = new Informants(sentinels, node);
  return async (signal) => {
    const address = await informants.ask(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master], addressIn, signal);
    if (address !== undefined) return address;
    throw new BatchwiseError('UNAVAILABLE', `no sentinel has a master named ${JSON.stringify(master)}`);
  };
}

function addressIn(reply: Reply): Address | undefined {
  if (!Array.isArray(reply)) return undefined;
  return { host: String(reply[0]), port: Number(reply[1]) };
}
