/**
 * Connections that the cluster hands to a web process, until that has taken them. Those that it had not when
 * it died would be forgotten, neither passed on nor closed, and their clients would wait for ever.
 */
import type { ChildProcess } from 'node:child_process';

interface Handle {
  close(): void;
}

/** What the cluster says to its processes and hears of them is nowhere promised: what looks different is left alone. */
interface ClusterMessage {
  readonly cmd?: unknown;
  readonly act?: unknown;
  readonly seq?: unknown;
  readonly ack?: unknown;
}

export function closeWhatIsNotTaken(child: ChildProcess): void {
  const handed = new Map<unknown, Handle>();
  const send = child.send.bind(child) as (...sent: unknown[]) => boolean;
  child.send = (message: unknown, handle?: unknown, ...rest: unknown[]): boolean => {
    const { cmd, act, seq } = (message ?? {}) as ClusterMessage;
    if (cmd === 'NODE_CLUSTER' && act === 'newconn' && isHandle(handle)) handed.set(seq, handle);
    return send(message, handle, ...rest);
  };
  child.on('internalMessage', (message: ClusterMessage | undefined) => {
    if (message?.ack !== undefined) handed.delete(message.ack);
  });
  child.on('exit', () => {
    for (const handle of handed.values()) handle.close();
    handed.clear();
  });
}

function isHandle(value: unknown): value is Handle {
  return typeof (value as Partial<Handle> | undefined)?.close === 'function';
}
