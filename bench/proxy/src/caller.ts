/** A client of one process: sends a number to the backend by unary calls and gets it back. */
export interface Caller {
  /** Told once: the number that came back, undefined for any failure. */
  call(number: number, onAnswer: (answer: number | undefined) => void): void;
  close(): void;
}

/** So many connections share the calls of a client process, whatever it speaks. */
export const CONNECTIONS = 4;
