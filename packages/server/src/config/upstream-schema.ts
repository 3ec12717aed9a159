/** The keys below `upstream` of a runner. */
import { DEFAULT_RUNNER_SETTINGS, type UpstreamSettings } from '@batchwise/runners';
import type { Section } from './config-schema.js';
import { duration } from './kinds/duration.js';
import { wholeNumber } from './kinds/number-kinds.js';
import { optional } from './kinds/optional.js';
import { choice, filePath, text } from './kinds/text-kinds.js';
import { upstreamUrls } from './kinds/upstream-urls.js';

const DAY_MS = 24 * 3_600_000;
const { upstream } = DEFAULT_RUNNER_SETTINGS;

export const UPSTREAM_SCHEMA: Section<UpstreamSettings> = {
  description: 'A backend behind gRPC or HTTP that runs the batches.',
  shorthand: 'url',
  fields: {
    url: {
      kind: upstreamUrls,
      default: upstream.url,
      description:
        'URL of the upstream that runs the batches; several URLs are copies of one backend. If not set, the runner runs in the server. `upstream: grpc://…` is a short form.',
    },
    model: {
      kind: optional(text('the name of a model')),
      default: upstream.model,
      description:
        'Name of the model on the upstream. If not set: the name in the URL, else the name of the runner.',
    },
    version: {
      kind: optional(text('the version of a model')),
      default: upstream.version,
      description:
        'Version of the model on the upstream. If not set: the version in the URL, else the upstream chooses.',
    },
    format: {
      kind: choice('binary', 'json'),
      default: upstream.format,
      description: 'Format of tensors over HTTP: binary after the JSON, or in the JSON.',
    },
    connections: {
      kind: wholeNumber({ least: 1, most: 1024 }),
      default: upstream.connections,
      description: 'Maximum number of connections to each URL.',
    },
    startTimeoutMs: {
      key: 'start_timeout',
      kind: duration({ leastMs: 1, mostMs: DAY_MS }),
      default: upstream.startTimeoutMs,
      description: 'Maximum time to wait for the upstream when the runner starts.',
    },
    retries: {
      kind: wholeNumber({ least: 0, most: 10 }),
      default: upstream.retries,
      description:
        'How often a batch is retried that has certainly not started. At most one call in ten is a retry.',
    },
    maxFailures: {
      kind: wholeNumber({ least: 1, most: 1_000_000 }),
      default: upstream.maxFailures,
      description: 'Number of consecutive calls without a response that ejects a URL.',
    },
    cooldownMs: {
      key: 'cooldown',
      kind: duration({ leastMs: 1, mostMs: DAY_MS }),
      default: upstream.cooldownMs,
      description: 'Duration of the first ejection of a URL. It doubles with each ejection, up to 30 s.',
    },
    healthIntervalMs: {
      key: 'health_interval',
      kind: duration({ leastMs: 1, mostMs: DAY_MS, orUnlimited: true }),
      default: upstream.healthIntervalMs,
      description: 'Interval of health checks while there are no calls.',
    },
    caFile: {
      kind: optional(filePath('the path of certificates in PEM')),
      default: upstream.caFile,
      description:
        'Trusted certificate authorities, for `grpcs://` and `https://`. If not set, those of the system.',
    },
    certFile: {
      kind: optional(filePath('the path of a certificate in PEM')),
      default: upstream.certFile,
      description: 'Client certificate, for an upstream that requires one.',
    },
    keyFile: {
      kind: optional(filePath('the path of a key in PEM')),
      default: upstream.keyFile,
      description: 'Private key of the client certificate.',
    },
    serverName: {
      kind: optional(text('the name of a server')),
      default: upstream.serverName,
      description: 'Expected name in the certificate of the upstream. If not set, the host of the URL.',
    },
  },
};
