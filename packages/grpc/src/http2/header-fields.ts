import type { OutgoingHttpHeaders } from 'node:http2';

const OF_REQUESTS = [':method', ':scheme', ':authority', ':path'];
const OF_RESPONSES = [':status'];
const COLON = 0x3a;

/** Of HTTP/1's connections, not of a call; peers drop the call, or the connection, for one of them. */
export const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Names and values in turns, in the order in which HTTP/2 wants them. Throws for what is no part of a request. */
export function requestFields(headers: OutgoingHttpHeaders): string[] {
  return fieldsOf(headers, OF_REQUESTS, 'a request');
}

/** As `requestFields`. */
export function responseFields(headers: OutgoingHttpHeaders): string[] {
  const status = Number(headers[':status']);
  if (!(status >= 200 && status <= 599))
    throw new TypeError(`expected the status of a response, got ${headers[':status']}`);
  return fieldsOf(headers, OF_RESPONSES, 'an answer');
}

/** As `requestFields`. */
export function trailerFields(trailers: OutgoingHttpHeaders): string[] {
  return fieldsOf(trailers, [], 'trailers');
}

function fieldsOf(headers: OutgoingHttpHeaders, pseudo: readonly string[], where: string): string[] {
  const fields: string[] = [];
  for (const name of pseudo) {
    const value = headers[name];
    if (value !== undefined) fields.push(name, String(value));
  }
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined) continue;
    if (name.charCodeAt(0) === COLON) {
      if (!pseudo.includes(name)) throw new TypeError(`'${name}' is not expected in ${where}`);
    } else if (OF_CONNECTIONS.has(name) || (name === 'te' && value !== 'trailers')) {
      throw new TypeError(`invalid HTTP/2 header '${name}' with the value ${JSON.stringify(value)}`);
    } else if (Array.isArray(value)) {
      for (const one of value) fields.push(name, one);
    } else fields.push(name, typeof value === 'string' ? value : String(value));
  }
  return fields;
}
