/** A promise that a test opens by hand. */
export class Gate<T = void> {
  readonly opened: Promise<T>;
  open: (value: T) => void = () => {};

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** Waits until something observable is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
