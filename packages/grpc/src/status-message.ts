/**
 * `grpc-message` is UTF-8 in percent coding, so that any text can stand in a header: everything outside
 * printable ASCII, and the percent sign itself.
 */
export function encodeStatusMessage(text: string): string {
  if (!MUST_BE_CODED.test(text)) return text;
  let coded = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    coded +=
      byte >= 0x20 && byte <= 0x7e && byte !== PERCENT
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return coded;
}

/** Never throws: a percent sign that codes nothing stays, and bytes that are not UTF-8 become U+FFFD. */
export function decodeStatusMessage(text: string): string {
  if (!text.includes('%')) return text;
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === PERCENT && HEX_PAIR.test(text.slice(i + 1, i + 3))) {
      bytes.push(Number.parseInt(text.slice(i + 1, i + 3), 16));
      i += 2;
    } else if (code < 0x80) {
      bytes.push(code);
    } else {
      bytes.push(...Buffer.from(String.fromCodePoint(text.codePointAt(i) as number), 'utf8'));
      if (code >= 0xd800 && code <= 0xdbff) i++;
    }
  }
  return Buffer.from(bytes).toString('utf8');
}

const PERCENT = 0x25;
const MUST_BE_CODED = /[^\x20-\x7e]|%/;
const HEX_PAIR = /^[0-9a-fA-F]{2}$/;
