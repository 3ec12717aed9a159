/** How much memory the messages take of calls that were accepted and are not answered yet, or do not take their answer. */
export class QueueBytes {
  readonly max: number;
  used = 0;

  constructor(max: number) {
    this.max = max;
  }

  /** Takes so many, or says that there is no room. One message always has room when nothing else is there. */
  take(bytes: number): boolean {
    if (this.used > 0 && this.used + bytes > this.max) return false;
    this.used += bytes;
    return true;
  }

  /** Takes them whether or not there is room: they are there already. */
  add(bytes: number): void {
    this.used += bytes;
  }

  giveBack(bytes: number): void {
    this.used -= bytes;
  }
}
