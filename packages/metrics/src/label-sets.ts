/**
 * The children of a metric, one for each combination of label values. There are never more than `most`:
 * whatever comes after that is counted together, with `other` for every value, so that nobody can fill
 * the memory of this process or of Prometheus by making up names.
 */
export const OTHER = 'other';

/** What becomes of the sets beyond the bound: they are one called `other`, or not shown. */
export type Overflow = 'join' | 'hide';

export interface LabelSet<Child> {
  readonly labels: readonly string[];
  readonly child: Child;
}

/** What is known below the label values so far. */
interface Branch<Child> {
  child?: Child;
  readonly next: Map<string, Branch<Child>>;
}

export class LabelSets<Child> {
  readonly #names: readonly string[];
  readonly #most: number;
  readonly #make: () => Child;
  readonly #overflow: Overflow;
  readonly #root: Branch<Child> = { next: new Map() };
  #sets: LabelSet<Child>[] = [];
  #other: Child | undefined;

  constructor(names: readonly string[], most: number, make: () => Child, overflow: Overflow = 'join') {
    this.#names = names;
    this.#most = most;
    this.#make = make;
    this.#overflow = overflow;
    // Without labels there is one child, and it is there from the start.
    if (names.length === 0) this.get([]);
  }

  /** Value by value rather than by one long key: no text is put together. */
  get(values: readonly string[]): Child {
    if (values.length !== this.#names.length) {
      throw new TypeError(
        `expected ${this.#names.length} label values (${this.#names.join(', ')}), got ${values.length}`,
      );
    }
    let branch: Branch<Child> | undefined = this.#root;
    for (const value of values) branch = branch?.next.get(value);
    return branch?.child ?? this.#add(values);
  }

  /** In the order in which they came. */
  all(): readonly LabelSet<Child>[] {
    return this.#sets;
  }

  /** Drops those that have all these values, and makes room for others. What they were counted together as stays. */
  remove(values: Readonly<Record<string, string | undefined>>): void {
    const wanted = this.#names.map((name) => values[name]);
    this.#sets = this.#sets.filter(({ labels, child }) => {
      const isKept = child === this.#other || !labels.every((label, i) => label === (wanted[i] ?? label));
      if (!isKept) this.#prune(this.#root, labels, 0);
      return isKept;
    });
  }

  #add(values: readonly string[]): Child {
    if (this.#sets.length >= this.#most) {
      this.#other ??= this.#overflow === 'join' ? this.#put(this.#names.map(() => OTHER)) : this.#make();
      return this.#other;
    }
    return this.#put(values);
  }

  #put(values: readonly string[]): Child {
    const branch = this.#branchOf(values);
    // Somebody may be called `other` already.
    if (branch.child === undefined) {
      branch.child = this.#make();
      this.#sets.push({ labels: [...values], child: branch.child });
    }
    return branch.child;
  }
  /** Takes a child out, and the branches that led only to it. Says whether nothing is left below this one. */
  #prune(branch: Branch<Child>, values: readonly string[], depth: number): boolean {
    const value = values[depth];
    const next = value === undefined ? undefined : branch.next.get(value);
    if (value === undefined) delete branch.child;
    else if (next !== undefined && this.#prune(next, values, depth + 1)) branch.next.delete(value);
    return branch.child === undefined && branch.next.size === 0;
  }

  #branchOf(values: readonly string[]): Branch<Child> {
    let branch = this.#root;
    for (const value of values) {
      const next: Branch<Child> = branch.next.get(value) ?? { next: new Map() };
      branch.next.set(value, next);
      branch = next;
    }
    return branch;
  }
}
