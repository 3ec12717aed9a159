/**
 * Which requests the page's server answers. A run sends traffic to any address, so that no page of another site may
 * start one: not by DNS rebinding (Host), not by a request across sites (Origin, content type), and not from another
 * machine without the token.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

export interface Refusal {
  readonly status: 401 | 403 | 415 | 421;
  readonly detail: string;
}

export interface GuardedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** `?token=` of the address. */
  readonly queryToken: string | null;
  /** False for the page and its modules: they hold no figures, and a browser loads them without a token. */
  readonly isPrivate: boolean;
}

export class PageGuard {
  readonly #isLoopback: boolean;
  readonly #digest: Buffer | undefined;

  constructor(listenAddress: string, token: string | undefined) {
    this.#isLoopback = isLoopbackName(listenAddress.replace(/^::ffff:/, ''));
    this.#digest = token === undefined ? undefined : digestOf(token);
  }

  /** Why not; undefined when the request may be answered. */
  refusal(request: GuardedRequest): Refusal | undefined {
    const { method, headers, isPrivate } = request;
    if (this.#isLoopback && !isLoopbackName(nameOf(headers.host ?? ''))) {
      return {
        status: 421,
        detail:
          'header host: expected a loopback name such as localhost, because the page is on a loopback address.',
      };
    }
    if (method === 'POST' && isOfOtherSite(headers)) {
      return { status: 403, detail: 'header origin: expected the origin of the page, got another one.' };
    }
    if (isPrivate && !this.#hasToken(request)) {
      return { status: 401, detail: 'Expected the token that was printed with the address of the page.' };
    }
    if (method === 'POST' && !/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '')) {
      return { status: 415, detail: 'header content-type: expected application/json.' };
    }
    return undefined;
  }

  #hasToken({ method, headers, queryToken }: GuardedRequest): boolean {
    if (this.#digest === undefined) return true;
    const bearer = /^Bearer +(\S+)\s*$/i.exec(headers.authorization ?? '')?.[1];
    const given = bearer ?? (method === 'GET' ? queryToken : null);
    // Digests are of one length, and comparing them takes the same time wherever they differ.
    return given !== null && given !== undefined && timingSafeEqual(digestOf(given), this.#digest);
  }
}

/** RFC 6761, 6.3, and RFC 1122, 3.2.1.3 (g). */
export function isLoopbackName(name: string): boolean {
  return (
    /^(?:[\w-]+\.)*localhost$/.test(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
  );
}

/** Without the port, the brackets of an IPv6 address and the dot of the root. */
function nameOf(host: string): string {
  const [, ipv6, name = host] = /^(?:\[([\da-f:.]+)\]|([^:]*))(?::\d*)?$/i.exec(host.trim()) ?? [];
  return (ipv6 ?? name).toLowerCase().replace(/\.$/, '');
}

/** Browsers send Sec-Fetch-Site, or to a plain address that is not loopback at least Origin; other clients neither. */
function isOfOtherSite({ origin, host, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (origin !== undefined && origin.replace(/^https?:\/\//, '') !== host) return true;
  return site !== undefined && site !== 'same-origin';
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
