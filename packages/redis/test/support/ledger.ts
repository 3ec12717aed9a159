/** The books of a test that does its worst: what was submitted is settled, once. */

export type LedgerId = string | number;

export class Ledger {
  /** How often each was submitted and settled. */
  readonly #entries = new Map<LedgerId, { submitted: number; settled: string[] }>();
  readonly #outcomes = new Map<string, number>();
  #unsettled = 0;

  submitted(id: LedgerId): void {
    const entry = this.#entry(id);
    entry.submitted += 1;
    if (entry.submitted === 1 && entry.settled.length === 0) this.#unsettled += 1;
  }

  /** `outcome` in a word: `answered`, or an error's code. */
  settled(id: LedgerId, outcome: string): void {
    const entry = this.#entry(id);
    if (entry.submitted > 0 && entry.settled.length === 0) this.#unsettled -= 1;
    entry.settled.push(outcome);
    this.#outcomes.set(outcome, this.count(outcome) + 1);
  }

  /** How many were submitted and wait for their outcome. */
  get unsettled(): number {
    return this.#unsettled;
  }

  /** How many were settled like this. */
  count(outcome: string): number {
    return this.#outcomes.get(outcome) ?? 0;
  }

  get outcomes(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#outcomes);
  }

  /** What is wrong, a sentence each; nothing, if the books are in order. */
  audit(): string[] {
    const wrong: string[] = [];
    for (const [id, { submitted, settled }] of this.#entries) {
      if (submitted === 0) wrong.push(`${id} was settled (${settled.join(', ')}) but never submitted`);
      else if (settled.length === 0) wrong.push(`${id} was never settled`);
      if (submitted > 1) wrong.push(`${id} was submitted ${submitted} times`);
      if (settled.length > 1) wrong.push(`${id} was settled ${settled.length} times: ${settled.join(', ')}`);
    }
    return wrong;
  }

  #entry(id: LedgerId) {
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      entry = { submitted: 0, settled: [] };
      this.#entries.set(id, entry);
    }
    return entry;
  }
}
