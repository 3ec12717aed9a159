/** Samples as plain HTTP sends them: JSON as its text, bytes as they are. */
import type { EncodedSample } from './http-target.js';
import type { TargetSpec } from './target-spec.js';

export function plainSamples({ data = [] }: TargetSpec): EncodedSample[] {
  if (data.length === 0) return [{ body: null, headers: [] }];
  return data.map((sample) =>
    'json' in sample
      ? { body: Buffer.from(JSON.stringify(sample.json)), headers: ['content-type', 'application/json'] }
      : { body: Buffer.from(sample.base64, 'base64'), headers: ['content-type', 'application/octet-stream'] },
  );
}
