import type { RunningServer } from './running-server.js';

/** Starts a server. If that fails, or is aborted, it resolves when the parts that had started have ended. */
export async function startOrKill(
  server: Pick<RunningServer, 'kill'> & { start(): Promise<void> },
  signal: AbortSignal | undefined,
): Promise<void> {
  const kill = () => void server.kill();
  signal?.addEventListener('abort', kill, { once: true });
  try {
    if (!signal?.aborted) await server.start();
    signal?.throwIfAborted();
  } catch (error) {
    await server.kill();
    throw error;
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}
