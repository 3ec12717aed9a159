/** A command as it goes over the wire: how many parts, and the length before each. */
import type { Argument } from './link.js';

const LINE = '\r\n';

/** Text in one piece, and each Buffer in one of its own. Throws a TypeError when an argument is neither. */
export function encodedCommand(command: readonly Argument[]): Argument[] {
  const pieces: Argument[] = [];
  let text = `*${command.length}${LINE}`;
  for (const part of command) {
    if (typeof part === 'string') {
      text += `$${Buffer.byteLength(part)}${LINE}${part}${LINE}`;
      continue;
    }
    if (!Buffer.isBuffer(part))
      throw new TypeError(`expected text or a Buffer as argument, got ${typeof part}`);
    pieces.push(`${text}$${part.length}${LINE}`, part);
    text = LINE;
  }
  pieces.push(text);
  return pieces;
}
