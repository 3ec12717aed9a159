/** A schema at work: what does not fit it is an error of the caller's making, what does comes out as it says. */
import * as z from 'zod';
import { firstMismatch } from './first-mismatch.js';
import type { Schema } from './schema.js';
import type { FoundIssue } from './schema-issues.js';
import { asItCame, foundIssues, issueText } from './schema-issues.js';

export interface Mismatch {
  readonly first: FoundIssue;
  readonly count: number;
  /** All of them, or as many as anybody would read. */
  readonly text: string;
}

type Refuse = (mismatch: Mismatch) => Error;

/** Synchronous until the schema turns out not to be. */
export class SchemaCheck {
  readonly #schema: Schema;
  readonly #root: string;
  readonly #refuse: Refuse;
  #isAsync = false;

  /** `root` is how the whole value is called in messages. */
  constructor(schema: Schema, root: string, refuse: Refuse) {
    this.#schema = schema;
    this.#root = root;
    this.#refuse = refuse;
  }

  /** A promise only where the schema has something to wait for. Of a large value, one mismatch is told and not all. */
  check(value: unknown, isLarge = false): unknown {
    if (!this.#isAsync) {
      if (isLarge) this.#checkFirst(value);
      try {
        const parsed = z.core.safeParse(this.#schema, value);
        if (parsed.success) return parsed.data;
        return this.#refused(value, z.core.safeParse(this.#schema, value, TELLING));
      } catch (error) {
        // By its name: the schema may be of another copy of zod.
        if ((error as Error | undefined)?.constructor.name !== '$ZodAsyncError') throw error;
        this.#isAsync = true;
      }
    }
    return this.#checkAsync(value);
  }

  #checkFirst(value: unknown): void {
    let first: FoundIssue | undefined;
    try {
      first = firstMismatch(this.#schema, value, this.#root);
    } catch {
      // A check of the user's that throws, or waits: zod meets it again and tells.
    }
    if (first === undefined) return;
    throw this.#refuse({ first, count: 1, text: `${first.where}: ${first.message}` });
  }

  async #checkAsync(value: unknown): Promise<unknown> {
    const parsed = await z.core.safeParseAsync(this.#schema, value);
    if (parsed.success) return parsed.data;
    return this.#refused(value, await z.core.safeParseAsync(this.#schema, value, TELLING));
  }

  #refused(value: unknown, parsed: z.core.util.SafeParseResult<unknown>): unknown {
    if (parsed.success) return parsed.data;
    const issues = parsed.error.issues.map((issue) => asItCame(issue, value));
    const [first = { where: this.#root, message: 'invalid value' }] = foundIssues(this.#root, issues);
    throw this.#refuse({ first, count: issues.length, text: issueText(this.#root, issues) });
  }
}

/** Zod takes five times as long when it is to tell what came: it is asked to only for those who get to read it. */
const TELLING = { reportInput: true } as const;
