/**
 * The children of a metric, one per combination of label values, up to `maxSets`. Further combinations share one
 * child with the value `other` for every label, so that invented names cannot fill the memory of this process or of
 * Prometheus.
 */
export const OTHER = 'other';

/** How label sets above the limit are handled: joined as `other`, or hidden. */
export type Overflow = 'join' | 'hide';

export interface LabelSet<Child> {
  readonly labels: readonly string[];
  readonly child: Child;
}

/** A node of the tree of label values. */
interface Branch<Child> {
  child?: Child;
  readonly next: Map<string, Branch<Child>>;
}

export class LabelSets<Child> {
  readonly #names: readonly string[];
  readonly #maxSets: number;
  readonly #make: () => Child;
  readonly #overflow: Overflow;
  readonly #root: Branch<Child> = { next: new Map() };
  #sets: LabelSet<Child>[] = [];
  #other: Child | undefined;

  constructor(names: readonly string[], maxSets: number, make: () => Child, overflow: Overflow = 'join') {
    this.#names = names;
    this.#maxSets = maxSets;
    this.#make = make;
    this.#overflow = overflow;
    // Without labels there is one child, created immediately.
    if (names.length === 0) this.get([]);
  }

  /** Looks up value by value, without building a key string. */
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

  /** In order of creation. */
  all(): readonly LabelSet<Child>[] {
    return this.#sets;
  }

  /** Removes the sets with these values and frees their places. The child `other` is kept. */
  remove(values: Readonly<Record<string, string | undefined>>): void {
    const wanted = this.#names.map((name) => values[name]);
    this.#sets = this.#sets.filter(({ labels, child }) => {
      const isKept = child === this.#other || !labels.every((label, i) => label === (wanted[i] ?? label));
      if (!isKept) this.#prune(this.#root, labels, 0);
      return isKept;
    });
  }

  #add(values: readonly string[]): Child {
    if (this.#sets.length >= this.#maxSets) {
      this.#other ??= this.#overflow === 'join' ? this.#put(this.#names.map(() => OTHER)) : this.#make();
      return this.#other;
    }
    return this.#put(values);
  }

  #put(values: readonly string[]): Child {
    const branch = this.#branchOf(values);
    // A label set with the value `other` may exist already.
    if (branch.child === undefined) {
      branch.child = this.#make();
      this.#sets.push({ labels: [...values], child: branch.child });
    }
    return branch.child;
  }
  /** Removes a child and its empty branches. Returns whether the branch is empty. */
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
