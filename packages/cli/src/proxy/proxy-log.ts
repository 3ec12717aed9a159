/** The log of the proxy: sentences after the banner, without repeated lines of a backend. */
const OF_BACKEND = /^backend (\S+) /;

export class ProxyLog {
  readonly #output: (line: string) => void;
  /** Lines before the start; undefined after it. A failed start throws its reason. */
  #held: string[] | undefined = [];
  /** The last line of each backend: retries of an unreachable backend repeat it. */
  readonly #last = new Map<string, string>();

  constructor(output: (line: string) => void) {
    this.#output = output;
  }

  /** Writes the lines so far. Later lines are written at once. */
  started(): void {
    for (const line of this.#held ?? []) this.#output(line);
    this.#held = undefined;
  }

  write(line: string): void {
    const backend = OF_BACKEND.exec(line)?.[1];
    if (backend !== undefined) {
      if (this.#last.get(backend) === line) return;
      this.#last.set(backend, line);
    }
    if (this.#held === undefined) this.#output(sentence(line));
    else this.#held.push(sentence(line));
  }
}

function sentence(line: string): string {
  const text = line.charAt(0).toUpperCase() + line.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
