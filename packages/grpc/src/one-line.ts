/** What an error says, for a log or a status: OpenSSL's own texts have the place in its sources, and line breaks. */
export function oneLine(error: Error): string {
  const { reason } = error as { reason?: unknown };
  const text = typeof reason === 'string' && reason !== '' ? `TLS: ${reason}` : error.message;
  return text.replace(/\s+/g, ' ').trim();
}
