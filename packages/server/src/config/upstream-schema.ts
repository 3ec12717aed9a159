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
  description: 'A backend elsewhere, behind gRPC or HTTP, that runs the batches.',
  shorthand: 'url',
  fields: {
    url: {
      kind: upstreamUrls,
      default: upstream.url,
      description:
        'Where the batches run. With none, the runner runs here. `upstream: grpc://…` is short for it. Several are copies of one backend.',
    },
    model: {
      kind: optional(text('the name of a model')),
      default: upstream.model,
      description: 'What the model is called there. With none, as the URL says, else as the runner.',
    },
    version: {
      kind: optional(text('the version of a model')),
      default: upstream.version,
      description: 'Its version there. With none, as the URL says, else the choice is left to the upstream.',
    },
    format: {
      kind: choice('binary', 'json'),
      default: upstream.format,
      description: 'How tensors travel over HTTP: behind the JSON, or in it.',
    },
    connections: {
      kind: wholeNumber({ least: 1, most: 1024 }),
      default: upstream.connections,
      description: 'The most connections to each URL.',
    },
    startTimeoutMs: {
      key: 'start_timeout',
      kind: duration({ leastMs: 1, mostMs: DAY_MS }),
      default: upstream.startTimeoutMs,
      description: 'How long it is waited for when the runner starts.',
    },
    retries: {
      kind: wholeNumber({ least: 0, most: 10 }),
      default: upstream.retries,
      description:
        'How often a batch that was certainly not begun is sent again; never more than one call in ten.',
    },
    maxFailures: {
      kind: wholeNumber({ least: 1, most: 1_000_000 }),
      default: upstream.maxFailures,
      description: 'After so many calls in a row without a sign of it nothing is sent for a while.',
    },
    cooldownMs: {
      key: 'cooldown',
      kind: duration({ leastMs: 1, mostMs: DAY_MS }),
      default: upstream.cooldownMs,
      description: 'For how long, at first; twice as long each time, up to 30 s.',
    },
    healthIntervalMs: {
      key: 'health_interval',
      kind: duration({ leastMs: 1, mostMs: DAY_MS, orUnlimited: true }),
      default: upstream.healthIntervalMs,
      description: 'How often it is asked whether it is ready while nothing else is.',
    },
    caFile: {
      kind: optional(filePath('the path of certificates in PEM')),
      default: upstream.caFile,
      description: 'Whom to trust, of `grpcs://` and `https://`. With none, the authorities of the system.',
    },
    certFile: {
      kind: optional(filePath('the path of a certificate in PEM')),
      default: upstream.certFile,
      description: 'The certificate that is shown to an upstream that wants one.',
    },
    keyFile: {
      kind: optional(filePath('the path of a key in PEM')),
      default: upstream.keyFile,
      description: 'Its key.',
    },
    serverName: {
      kind: optional(text('the name of a server')),
      default: upstream.serverName,
      description: 'The name that its certificate must have. With none, the host of the URL.',
    },
  },
};
