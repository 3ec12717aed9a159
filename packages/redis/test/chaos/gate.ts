/** What waits here goes on when the test says so. */
export class Gate {
  readonly passed: Promise<void>;
  #open = () => {};

  constructor() {
    this.passed = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }
}
