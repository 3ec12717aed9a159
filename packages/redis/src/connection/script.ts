/** The Lua files of this package, as Redis knows them: by the digest of their text. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly name: string;
  readonly source: string;
  /** What EVALSHA calls it by. */
  readonly sha1: string;
}

const loaded = new Map<string, Script>();

/** `lua/<name>.lua`, read once in a process. */
export function loadScript(name: string): Script {
  let script = loaded.get(name);
  if (script === undefined) {
    // Two levels up from src/connection and from dist/connection alike.
    const source = readFileSync(new URL(`../../lua/${name}.lua`, import.meta.url), 'utf8');
    script = { name, source, sha1: createHash('sha1').update(source).digest('hex') };
    loaded.set(name, script);
  }
  return script;
}
