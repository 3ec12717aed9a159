/**
 * Which `Host` headers a server answers. A page of another site can have its own name resolve to a loopback
 * address (DNS rebinding): a browser on the same machine then sends its requests here, and lets the page read
 * the answers. Such a request names the other site in `Host`.
 */
import { isIP } from 'node:net';

/**
 * Undefined where every host is answered. At a loopback address only loopback names are, and `allowedHosts`; at
 * another address nothing is checked unless `allowedHosts` are given, and an IP address always passes: health
 * checks use it, and DNS rebinding needs a name. `*` allows every host.
 */
export function hostRule(
  listenAddress: string,
  allowedHosts: readonly string[] = [],
): ((host: string | undefined) => boolean) | undefined {
  const isLocal = isLoopbackName(listenAddress.replace(/^::ffff:/, ''));
  const allowed = new Set(allowedHosts.map(withoutDot));
  if (allowed.has('*') || (!isLocal && allowed.size === 0)) return undefined;
  return (host) => {
    // Only HTTP/1.0 has none, and no browser speaks that.
    if (host === undefined) return true;
    const name = nameOf(host);
    return isLoopbackName(name) || allowed.has(name) || (!isLocal && isIP(name) !== 0);
  };
}

/** Without the port and the brackets of an IPv6 address. */
function nameOf(host: string): string {
  const [, ipv6, name = host] = /^(?:\[([\da-f:.]+)\]|([^:]*))(?::\d*)?$/i.exec(host.trim()) ?? [];
  return withoutDot(ipv6 ?? name);
}

/** `localhost.` is `localhost` from the root on. */
function withoutDot(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** RFC 6761, 6.3, and RFC 1122, 3.2.1.3 (g). */
function isLoopbackName(name: string): boolean {
  return (
    /^(?:[\w-]+\.)*localhost$/.test(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
  );
}
