/** The lines of a proxy as an operator reads them: sentences, after the banner, and of no backend the same twice. */
const OF_BACKEND = /^backend (\S+) /;

export class ProxyLog {
  readonly #write: (line: string) => void;
  /** Undefined once it has started. When it does not, what was thrown says why. */
  #held: string[] | undefined = [];
  /** One that is away is tried again and again, and each time there is the same to say. */
  readonly #last = new Map<string, string>();

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Writes what it was told so far, and from now on at once. */
  started(): void {
    for (const line of this.#held ?? []) this.#write(line);
    this.#held = undefined;
  }

  told(line: string): void {
    const backend = OF_BACKEND.exec(line)?.[1];
    if (backend !== undefined) {
      if (this.#last.get(backend) === line) return;
      this.#last.set(backend, line);
    }
    if (this.#held === undefined) this.#write(sentence(line));
    else this.#held.push(sentence(line));
  }
}

function sentence(line: string): string {
  const text = line.charAt(0).toUpperCase() + line.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
