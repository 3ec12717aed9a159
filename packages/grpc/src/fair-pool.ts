/**
 * A limit that several holders share: each may hold as much as is left for the others (dynamic thresholds, Choudhury and
 * Hahne, 1998). One holder alone gets half, two get a third each, and something is always left for the next one.
 */
export class FairPool<Holder> {
  readonly #held = new Map<Holder, number>();
  #used = 0;

  /** All of it together. */
  get used(): number {
    return this.#used;
  }

  heldBy(holder: Holder): number {
    return this.#held.get(holder) ?? 0;
  }

  /** Whether a holder may take so much more; one that finds the pool empty may take all of it. */
  hasRoom(holder: Holder, amount: number, max: number): boolean {
    const left = max - this.#used - amount;
    return this.#used === 0 ? left >= 0 : this.heldBy(holder) + amount <= left;
  }

  /** Takes it, whether or not there is room. */
  take(holder: Holder, amount: number): void {
    this.#used += amount;
    this.#held.set(holder, this.heldBy(holder) + amount);
  }

  giveBack(holder: Holder, amount: number): void {
    const left = this.heldBy(holder) - amount;
    this.#used -= amount;
    if (left > 0) this.#held.set(holder, left);
    else this.#held.delete(holder);
  }
}
