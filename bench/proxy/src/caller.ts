/** The client of a process: sends a number to the backend in a unary call, which echoes it. */
export interface Caller {
  /** `onAnswer` is called once, with the number in the response; undefined for any failure. */
  call(number: number, onAnswer: (answer: number | undefined) => void): void;
  close(): void;
}

/** The number of connections of a client process, for every client library. */
export const CONNECTIONS = 4;
