import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';

const ENTRY_BYTES = 32;

/** The size of a list of headers as HTTP/2 counts it (SETTINGS_MAX_HEADER_LIST_SIZE): 32 bytes more for each entry. */
export function headerBytes(headers: IncomingHttpHeaders | OutgoingHttpHeaders): number {
  let bytes = 0;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') bytes += name.length + value.length + ENTRY_BYTES;
    else if (Array.isArray(value)) {
      for (const one of value) bytes += name.length + one.length + ENTRY_BYTES;
    } else if (value !== undefined) bytes += name.length + String(value).length + ENTRY_BYTES;
  }
  return bytes;
}
