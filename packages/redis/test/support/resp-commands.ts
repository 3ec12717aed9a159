/** Puts the commands together that a client sends, from the pieces they come in. */

const lineEnd = Buffer.from('\r\n');

export class RespCommands {
  #rest: Buffer = Buffer.alloc(0);
  #isUnderstood = true;

  /** The commands that are complete now, each as its bytes. What is not RESP (TLS, for one) comes as it is. */
  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const commands: Buffer[] = [];
    let start = 0;
    while (start < bytes.length) {
      if (bytes[start] !== asterisk) this.#isUnderstood = false;
      const end = this.#isUnderstood ? endOfCommand(bytes, start) : bytes.length;
      if (end === undefined) break;
      commands.push(bytes.subarray(start, end));
      start = end;
    }
    this.#rest = bytes.subarray(start);
    return commands;
  }
}

const asterisk = 0x2a;

/** A command is `*2 $3 GET $1 k`: how many parts, and the length before each. */
function endOfCommand(bytes: Buffer, start: number): number | undefined {
  const count = numberAt(bytes, start);
  if (count === undefined) return undefined;
  let at = count.end;
  for (let part = 0; part < count.value; part += 1) {
    const length = numberAt(bytes, at);
    if (length === undefined) return undefined;
    at = length.end + length.value + lineEnd.length;
  }
  return at <= bytes.length ? at : undefined;
}

/** The number after the mark at this place. */
function numberAt(bytes: Buffer, at: number): { readonly value: number; readonly end: number } | undefined {
  const lineBreak = bytes.indexOf(lineEnd, at);
  if (lineBreak < 0) return undefined;
  return { value: Number(bytes.toString('latin1', at + 1, lineBreak)), end: lineBreak + lineEnd.length };
}
