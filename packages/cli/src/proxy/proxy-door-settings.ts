/** Where the proxy listens, for calls and for those who look after it, and what it lets clients use. */
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
/** Not that of the package: who starts a command wants to look at it. */
export const DEFAULT_ADMIN_PORT = 50_050;

export const DOOR_SETTINGS: readonly ProxySetting[] = [
  proxySetting('host', address, {
    flag: '--host <address>',
    default: '127.0.0.1',
    meaning: 'The address to listen at.',
  }),
  proxySetting('port', wholeNumberKind({ least: 0, most: 65_535 }), {
    flag: '--port <number>',
    default: String(DEFAULT_PORT),
    meaning: 'The port to listen at; 0 for any that is free.',
  }),
  proxySetting('tlsCert', filePathKind('the path of a PEM file with a certificate'), {
    flag: '--tls-cert <file>',
    default: 'none: no TLS',
    meaning: 'The certificate that clients see.',
  }),
  proxySetting('tlsKey', filePathKind('the path of a PEM file with a private key'), {
    flag: '--tls-key <file>',
    default: 'none',
    meaning: 'The key of that certificate.',
  }),
  proxySetting('tlsClientCa', filePathKind('the path of a PEM file with certificates'), {
    flag: '--tls-client-ca <file>',
    default: 'none',
    meaning: 'Clients must show a certificate that one of these has signed: mutual TLS.',
  }),
  proxySetting('health', choiceKind('answer', 'pass'), {
    flag: '--health <answer|pass>',
    default: 'answer',
    meaning: 'Whether calls of grpc.health.v1.Health are answered by the proxy, or passed to a backend.',
  }),
  proxySetting('maxMessageBytes', byteSizeKind({ least: 1, most: GIB }), {
    flag: '--max-message-bytes <size>',
    default: '4MiB',
    meaning:
      'The largest message of a batched call, in either direction. A larger one fails its call with RESOURCE_EXHAUSTED.',
  }),
  proxySetting('maxQueueBytes', byteSizeKind({ least: 1, most: 1024 * GIB }), {
    default: '256MiB',
    meaning:
      'How much memory the messages of unanswered calls may take. A tenant may hold as much of it as it leaves to others; one more is rejected.',
  }),
  proxySetting('tenantBy', tenantBy, {
    flag: '--tenant-by <key>',
    default: 'connection',
    meaning:
      'Which calls count as one tenant: those of a connection, of an address, or with the same value of a key of metadata. Tenants share slots, groups and memory fairly.',
  }),
  proxySetting('drainTimeoutMs', durationKind({ leastMs: 0, mostMs: DAY_MS }), {
    key: 'drain_timeout',
    flag: '--drain-timeout <duration>',
    default: durationText(DEFAULT_DRAIN_MS),
    meaning: 'How long accepted calls may take to end when it is told to stop.',
  }),
  proxySetting('adminPort', portOrNone, {
    flag: '--admin-port <number>',
    default: String(DEFAULT_ADMIN_PORT),
    meaning: 'The port of /metrics, /livez, /readyz and /healthz, over HTTP; 0 for any that is free.',
  }),
  proxySetting('adminHost', address, {
    flag: '--admin-host <address>',
    default: 'that of `host`',
    meaning: 'The address of those.',
  }),
];

export const LIMIT_SETTINGS: readonly ProxySetting[] = [
  proxySetting('maxConnections', wholeNumberKind({ least: 1, most: 1_000_000 }), {
    default: '10000',
    meaning: 'Connections of clients at a time. Further ones are closed as they come.',
  }),
  proxySetting('maxConcurrentStreams', wholeNumberKind({ least: 1, most: 1_000_000 }), {
    default: '1000',
    meaning: 'Calls at a time on one connection.',
  }),
  proxySetting('maxPassThroughStreams', wholeNumberKind({ least: 1, most: 1_000_000 }), {
    default: '1000',
    meaning:
      'Calls that are passed through at a time. A tenant may have as many as it leaves to others; further ones are rejected.',
  }),
  proxySetting('passThroughIdleMs', span, {
    default: '3600000',
    meaning:
      'A call that is passed through and on which no message comes in either direction for so long is ended with UNAVAILABLE.',
  }),
  proxySetting('maxHeaderBytes', byteSizeKind({ least: 1024, most: 2 ** 20 }), {
    default: '16KiB',
    meaning: 'All metadata of a call together.',
  }),
  proxySetting('maxUnfinishedBytes', byteSizeKind({ least: 1, most: 1024 * GIB }), {
    default: '256MiB',
    meaning:
      'Held in all for messages of which only a part has come; half of it at most for streams that are passed on and not read. A connection may hold as much as it leaves to others.',
  }),
  proxySetting('keepaliveMs', span, {
    default: '7200000',
    meaning: 'A client of which nothing was heard for so long is pinged.',
  }),
  proxySetting('keepaliveTimeoutMs', span, {
    default: '20000',
    meaning: 'A ping that is not answered for so long: the connection is closed.',
  }),
  proxySetting('handshakeMs', span, {
    default: '20000',
    meaning: 'A connection on which no HTTP/2 was spoken for so long is closed.',
  }),
  proxySetting('unfinishedMs', span, {
    default: '60000',
    meaning: 'A request that has not come whole in this time is ended.',
  }),
  proxySetting('untakenMs', span, {
    default: '60000',
    meaning: 'An answer that a client does not take in this time is dropped.',
  }),
];
