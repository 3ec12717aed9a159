/** A target for what a `TargetSpec` says. */
import { checkTargetSpec } from './check-target-spec.js';
import { GrpcTarget } from './grpc-target.js';
import { HttpTarget } from './http-target.js';
import { openInferenceSamples } from './open-inference-samples.js';
import { plainSamples } from './plain-samples.js';
import { RedisTarget } from './redis-target.js';
import type { Target } from './target.js';
import type { TargetSpec } from './target-spec.js';

/**
 * Opens nothing yet: that is `prepare()`.
 *
 * @throws {LoadError} INVALID_OPTION
 */
export function createTarget(spec: TargetSpec): Target {
  checkTargetSpec(spec);
  switch (new URL(spec.url).protocol) {
    case 'grpc:':
    case 'grpcs:':
      return new GrpcTarget(spec);
    case 'redis:':
    case 'rediss:':
      return new RedisTarget(spec);
  }
  const isPlain = spec.protocol === undefined || spec.protocol === 'http';
  return new HttpTarget({ spec, encode: isPlain ? plainSamples : openInferenceSamples });
}
