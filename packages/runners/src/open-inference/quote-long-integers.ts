/**
 * `JSON.parse` rounds integers beyond 2^53. Hashed ids, a common model input, are larger. This function quotes
 * integers that may be too large, so that they arrive as strings with all their digits.
 */

/** The number of digits of 2^53. */
const LONG = 16;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/** Expects valid JSON. Numbers with a fraction or an exponent are not changed. */
export function quoteLongIntegers(json: string): string {
  if (!/\d{16}/.test(json)) return json;
  let quoted = '';
  let copied = 0;
  let at = 0;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(json, at);
    } else if (code === MINUS || isDigit(code)) {
      const start = at;
      while (isDigit(json.charCodeAt(++at)));
      const digitsEnd = at;
      while (isRestOfNumber(json.charCodeAt(at))) at++;
      if (at !== digitsEnd || at - start < LONG) continue;
      quoted += `${json.slice(copied, start)}"${json.slice(start, at)}"`;
      copied = at;
    } else {
      at++;
    }
  }
  return quoted + json.slice(copied);
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A decimal point, an exponent, its sign, or a later digit. */
function isRestOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === MINUS;
}
