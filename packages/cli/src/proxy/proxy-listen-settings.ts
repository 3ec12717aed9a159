/** Settings of the listeners of the proxy, for calls and for monitoring, and limits of clients. */
import {
  byteSizeKind,
  choiceKind,
  durationKind,
  durationText,
  filePathKind,
  millisecondsKind,
  textKind,
  wholeNumberKind,
} from '@batchwise/server';
import { portOrNone, tenantBy } from './proxy-kinds.js';
import { type ProxySetting, proxySetting } from './proxy-setting.js';

const DAY_MS = 24 * 3_600_000;
const GIB = 2 ** 30;
const address = textKind('an address or a name of this machine, such as 0.0.0.0');
const span = millisecondsKind({ least: 1, most: DAY_MS });

export const DEFAULT_PORT = 50_049;
export const DEFAULT_DRAIN_MS = 30_000;
/** Enabled by default, unlike in the package. */
export const DEFAULT_ADMIN_PORT = 50_050;

export const LISTEN_SETTINGS: readonly ProxySetting[] = [
  proxySetting('host', address, {
    flag: '--host <address>',
    default: '127.0.0.1',
    meaning: 'The listening address.',
  }),
  proxySetting('port', wholeNumberKind({ least: 0, most: 65_535 }), {
    flag: '--port <number>',
    default: String(DEFAULT_PORT),
    meaning: 'The listening port; 0 for a free port.',
  }),
  proxySetting('tlsCert', filePathKind('the path of a PEM file with a certificate'), {
    flag: '--tls-cert <file>',
    default: 'none: no TLS',
    meaning: 'The server certificate (PEM).',
  }),
  proxySetting('tlsKey', filePathKind('the path of a PEM file with a private key'), {
    flag: '--tls-key <file>',
    default: 'none',
    meaning: 'The private key of the server certificate (PEM).',
  }),
  proxySetting('tlsClientCa', filePathKind('the path of a PEM file with certificates'), {
    flag: '--tls-client-ca <file>',
    default: 'none',
    meaning: 'Certificate authorities of client certificates (PEM), which are then required: mutual TLS.',
  }),
  proxySetting('health', choiceKind('answer', 'pass'), {
    flag: '--health <answer|pass>',
    default: 'answer',
    meaning: 'Whether the proxy answers calls of grpc.health.v1.Health, or passes them to a backend.',
  }),
  proxySetting('maxMessageBytes', byteSizeKind({ least: 1, most: GIB }), {
    flag: '--max-message-bytes <size>',
    default: '4MiB',
    meaning:
      'The maximum message size of a batched call, in either direction. A larger message fails its call with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('maxQueueBytes', byteSizeKind({ least: 1, most: 1024 * GIB }), {
    default: '256MiB',
    meaning:
      'The maximum memory for the messages of unanswered calls. A tenant may use at most as much as is still free: half if it is alone, a third each with two. Further calls are rejected with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('tenantBy', tenantBy, {
    flag: '--tenant-by <key>',
    default: 'connection',
    meaning:
      'What identifies a tenant: the connection, the address, or the value of a metadata key. Tenants share slots, groups and memory fairly.',
  }),
  proxySetting('drainTimeoutMs', durationKind({ leastMs: 0, mostMs: DAY_MS }), {
    key: 'drain_timeout',
    flag: '--drain-timeout <duration>',
    default: durationText(DEFAULT_DRAIN_MS),
    meaning: 'The time limit for accepted calls after SIGTERM.',
  }),
  proxySetting('adminPort', portOrNone, {
    flag: '--admin-port <number>',
    default: String(DEFAULT_ADMIN_PORT),
    meaning: 'The HTTP port of /metrics, /livez, /readyz and /healthz; 0 for a free port.',
  }),
  proxySetting('adminHost', address, {
    flag: '--admin-host <address>',
    default: 'that of `host`',
    meaning: 'The listening address of the HTTP port.',
  }),
];

export const LIMIT_SETTINGS: readonly ProxySetting[] = [
  proxySetting('maxConnections', wholeNumberKind({ least: 1, most: 1_000_000 }), {
    default: '10000',
    meaning: 'The maximum number of client connections. Further connections are closed.',
  }),
  proxySetting('maxConcurrentStreams', wholeNumberKind({ least: 1, most: 1_000_000 }), {
    default: '1000',
    meaning: 'The maximum number of concurrent calls of one connection.',
  }),
  proxySetting('maxPassThroughStreams', wholeNumberKind({ least: 1, most: 1_000_000 }), {
    default: '1000',
    meaning:
      'The maximum number of concurrent pass-through calls. A tenant may have at most as many as are still free: half if it is alone, a third each with two. Further calls are rejected with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('passThroughIdleMs', span, {
    default: '3600000',
    meaning:
      'The idle time, without a message in either direction, after which a pass-through call ends with UNAVAILABLE.',
  }),
  proxySetting('maxHeaderBytes', byteSizeKind({ least: 1024, most: 2 ** 20 }), {
    default: '16KiB',
    meaning: 'The maximum size of the metadata of a call.',
  }),
  proxySetting('maxUnfinishedBytes', byteSizeKind({ least: 1, most: 1024 * GIB }), {
    default: '256MiB',
    meaning:
      'The maximum memory for incomplete messages; at most half of it for pass-through streams that are not read. A connection may use at most as much as is still free.',
  }),
  proxySetting('keepaliveMs', span, {
    default: '7200000',
    meaning: 'The idle time after which a client is pinged.',
  }),
  proxySetting('keepaliveTimeoutMs', span, {
    default: '20000',
    meaning: 'The time without an answer to a ping after which the connection is closed.',
  }),
  proxySetting('handshakeMs', span, {
    default: '20000',
    meaning: 'The time limit for the HTTP/2 preface of a new connection, which is then closed.',
  }),
  proxySetting('unfinishedMs', span, {
    default: '60000',
    meaning: 'The time limit for a complete request, which is then ended.',
  }),
  proxySetting('untakenMs', span, {
    default: '60000',
    meaning: 'The time limit for a client to read a response, which is then dropped.',
  }),
];
