/**
 * A table whose last row changes in place on a terminal. In a pipe or a file only finished rows are
 * written, without escape codes.
 */
const ERASE_LINE = '\r\x1b[2K';

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export class LiveTable {
  readonly #output: Output;
  readonly #escapes: boolean;
  readonly #colours: boolean;
  #unfinished = false;

  constructor(output: Output, environment: NodeJS.ProcessEnv) {
    this.#output = output;
    this.#escapes = output.isTTY === true && environment.TERM !== 'dumb';
    this.#colours = this.#escapes && !environment.NO_COLOR;
  }

  heading(line: string): void {
    this.#output.write(`${this.#colours ? `\x1b[2m${line}\x1b[22m` : line}\n`);
  }

  /** Shows the row as it stands. */
  update(line: string): void {
    // A line that wraps cannot be erased, and would fill the screen with copies of itself.
    if (!this.#escapes || line.length >= (this.#output.columns || 80)) return;
    this.#output.write(ERASE_LINE + line);
    this.#unfinished = true;
  }

  /** Shows the row for the last time. */
  finish(line: string): void {
    this.abandon();
    this.#output.write(`${line}\n`);
  }

  /** Removes a row that will not be finished. */
  abandon(): void {
    if (this.#unfinished) this.#output.write(ERASE_LINE);
    this.#unfinished = false;
  }
}
