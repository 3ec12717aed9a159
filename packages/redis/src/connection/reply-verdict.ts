/** What an error reply means for the command that it answers. In all cases but `failed` it was not carried out. */
import type { ReplyError } from './link-errors.js';
import type { Address } from './node-connection.js';

export type Verdict =
  /** The same node will take it soon. */
  | { readonly kind: 'later' }
  /** This node is no longer the one that takes it: look again which one is. */
  | { readonly kind: 'elsewhere' }
  /** The slot belongs to that node from now on. */
  | { readonly kind: 'moved'; readonly to: Address }
  /** This once at that node. */
  | { readonly kind: 'ask'; readonly to: Address }
  | { readonly kind: 'no-script' }
  | { readonly kind: 'failed' };

const LATER: ReadonlySet<string> = new Set(['LOADING', 'TRYAGAIN', 'BUSY']);
/**
 * UNBLOCKED: a node that becomes a replica says so to those who wait there for an entry. CLUSTERDOWN: a master that is
 * cut off says so while the others have put another in its place.
 */
const ELSEWHERE: ReadonlySet<string> = new Set(['READONLY', 'MASTERDOWN', 'UNBLOCKED', 'CLUSTERDOWN']);

/** `from` is the node that answered: it names no host for one that is at the same. */
export function verdictOn(error: ReplyError, from: Address): Verdict {
  const { code } = error;
  if (LATER.has(code)) return { kind: 'later' };
  if (ELSEWHERE.has(code)) return { kind: 'elsewhere' };
  if (code === 'NOSCRIPT') return { kind: 'no-script' };
  if (code === 'MOVED' || code === 'ASK') {
    const to = redirection(error.message, from);
    if (to !== undefined) return { kind: code === 'MOVED' ? 'moved' : 'ask', to };
  }
  return { kind: 'failed' };
}

/** Redis is there, and will take commands, from here or from another node, before long. */
export function isTemporary({ code }: ReplyError): boolean {
  return LATER.has(code) || ELSEWHERE.has(code);
}

/** `MOVED 3999 127.0.0.1:6381`; an IPv6 address stands there without brackets. */
function redirection(message: string, from: Address): Address | undefined {
  const match = /^(?:MOVED|ASK) \d+ (.*):(\d+)/.exec(message);
  if (match === null) return undefined;
  const host = match[1] === '' || match[1] === '?' ? from.host : (match[1] as string);
  return { host, port: Number(match[2]) };
}
