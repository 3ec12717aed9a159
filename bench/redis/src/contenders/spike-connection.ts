/** A connection of the spike: node-redis as it comes. */
import { createClient } from '@redis/client';

export type SpikeConnection = Awaited<ReturnType<typeof connectSpike>>;

export async function connectSpike(url: string) {
  const connection = createClient({ url });
  // Without a listener an error would end the process.
  connection.on('error', () => {});
  await connection.connect();
  return connection;
}
