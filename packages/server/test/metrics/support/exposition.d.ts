/**
 * A reader of the text exposition format 0.0.4 that forgives nothing: what it takes, Prometheus takes, and
 * more than that: lines in order, no sample twice, histograms whose buckets add up.
 */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: Sample[];
}
export declare function parseExposition(text: string): Map<string, Family>;
/** The value of the sample with these labels and no others. */
export declare function sampleValue(
  families: ReadonlyMap<string, Family>,
  name: string,
  labels?: Readonly<Record<string, string>>,
): number | undefined;
