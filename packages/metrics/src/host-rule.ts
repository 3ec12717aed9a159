/**
 * Checks the `Host` header of a request against DNS rebinding: the page of another site can resolve its own name to a
 * loopback address. A browser on the same machine then sends the requests of the page to this server and lets the
 * page read the responses. Such a request has the name of the other site in `Host`.
 */
import { isIP } from 'node:net';

/**
 * Returns undefined if every host is allowed. On a loopback address, only loopback names and `allowedHosts` are
 * allowed. On another address, hosts are only checked if `allowedHosts` is set, and IP addresses are always allowed:
 * health checks use them, and DNS rebinding needs a name. `*` allows every host.
 */
export function hostRule(
  listenAddress: string,
  allowedHosts: readonly string[] = [],
): ((host: string | undefined) => boolean) | undefined {
  const isLocal = isLoopbackName(listenAddress.replace(/^::ffff:/, ''));
  const allowed = new Set(allowedHosts.map(withoutDot));
  if (allowed.has('*') || (!isLocal && allowed.size === 0)) return undefined;
  return (host) => {
    // Only HTTP/1.0 requests have no Host header, and no browser uses HTTP/1.0.
    if (host === undefined) return true;
    const name = nameOf(host);
    return isLoopbackName(name) || allowed.has(name) || (!isLocal && isIP(name) !== 0);
  };
}

/** The host name without the port and the brackets of an IPv6 address. */
function nameOf(host: string): string {
  const [, ipv6, name = host] = /^(?:\[([\da-f:.]+)\]|([^:]*))(?::\d*)?$/i.exec(host.trim()) ?? [];
  return withoutDot(ipv6 ?? name);
}

/** `localhost.` is the fully qualified form of `localhost`. */
function withoutDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** RFC 6761, 6.3, and RFC 1122, 3.2.1.3 (g). */
function isLoopbackName(name: string): boolean {
  return (
    /^(?:[\w-]+\.)*localhost$/.test(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
  );
}
