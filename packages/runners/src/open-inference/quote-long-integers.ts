/**
 * `JSON.parse` rounds integers beyond 2^53, and hashed ids, a usual input of models, are beyond it. This
 * puts quotes around those that may be, so that they arrive as strings with all their digits.
 */

/** 2^53 has as many. */
const LONG = 16;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/** Expects valid JSON. Numbers with a fraction or an exponent stay as they are. */
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

/** A point, an exponent, its sign, the digits that follow. */
function isRestOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === MINUS;
}
