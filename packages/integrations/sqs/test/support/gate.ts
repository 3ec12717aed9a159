/** A promise that a test resolves by hand. */
export interface Gate<T> {
  readonly promise: Promise<T>;
  open(value: T): void;
}

export function newGate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}
