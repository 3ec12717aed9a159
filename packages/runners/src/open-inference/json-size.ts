/**
 * JSON that takes far longer to parse than to send: each array and object is an object of its own, and some
 * bytes make one. Nobody else is answered while it is parsed, so there is a limit.
 */
import { malformed } from './message-error.js';

const MOST_CONTAINERS = 1_000_000;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

export function checkJsonSize(body: Buffer): void {
  // One that is open and closed takes two bytes. Brackets in strings count too: who has a million of them?
  if (body.length < 2 * MOST_CONTAINERS) return;
  let containers = 0;
  for (let i = 0; i < body.length; i++) {
    const byte = body[i];
    if (byte !== OPEN_ARRAY && byte !== OPEN_OBJECT) continue;
    containers += 1;
    if (containers <= MOST_CONTAINERS) continue;
    throw malformed('body', `expected JSON of at most ${MOST_CONTAINERS} arrays and objects, got more.`);
  }
}
