/** What a server says of itself at /metrics, read strictly. */
import { expect } from 'vitest';
import { type Family, parseExposition, sampleValue } from '../../../../metrics/test/support/exposition.js';
import type { Serving } from './serving.js';

export class Metrics {
  readonly #families: ReadonlyMap<string, Family>;

  private constructor(families: ReadonlyMap<string, Family>) {
    this.#families = families;
  }

  static async of(serving: Serving): Promise<Metrics> {
    const answer = await serving.client.get('/metrics');
    expect(answer.status).toBe(200);
    return new Metrics(parseExposition(answer.body.toString()));
  }

  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    return sampleValue(this.#families, name, labels);
  }

  /** Everything that may only grow, and has not since. */
  shrunkSince(before: Metrics): string[] {
    const now = this.#counted();
    return [...before.#counted()]
      .filter(([sample, value]) => (now.get(sample) ?? 0) < value)
      .map(([sample, value]) => `${sample} was ${value}, is ${now.get(sample)}`);
  }

  #counted(): Map<string, number> {
    const counted = new Map<string, number>();
    for (const { type, samples } of this.#families.values()) {
      if (type === 'gauge') continue;
      for (const { name, labels, value } of samples) counted.set(JSON.stringify([name, ...labels]), value);
    }
    return counted;
  }
}
