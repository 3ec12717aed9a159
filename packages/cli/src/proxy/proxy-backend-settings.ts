/** Settings of the backends, their health checks and their ejection. */
import {
  filePathKind,
  millisecondsKind,
  textKind,
  trueOrFalseKind,
  wholeNumberKind,
} from '@batchwise/server';
import { targetList } from './proxy-kinds.js';
import { type ProxySetting, proxySetting } from './proxy-setting.js';

const DAY_MS = 24 * 3_600_000;

export const BACKEND_SETTINGS: readonly ProxySetting[] = [
  proxySetting('targets', targetList, {
    flag: '--target, --forwarding-target <host:port>',
    isRepeated: true,
    default: '[localhost:50051]',
    meaning: 'The addresses of the backends; `dns:///name:port` stands for all addresses of the name.',
  }),
  proxySetting('targets', targetList, {
    key: 'forwarding_target',
    default: 'none',
    meaning: 'An alias of `targets`.',
  }),
  proxySetting('maxBatchesInFlight', wholeNumberKind({ least: 1, most: 10_000 }), {
    flag: '--max-batches-in-flight <count>',
    default: '1',
    meaning: 'Concurrent batches of one backend, of all methods together.',
  }),
  proxySetting('backendTls', trueOrFalseKind, {
    flag: '--backend-tls',
    default: '`true` with one of the next four, else `false`',
    meaning: 'Use TLS to the backends.',
  }),
  proxySetting('backendCa', filePathKind('the path of a PEM file with certificates'), {
    flag: '--backend-ca <file>',
    default: 'those of Node.js',
    meaning: 'The certificate authorities of the backends (PEM).',
  }),
  proxySetting('backendCert', filePathKind('the path of a PEM file with a certificate'), {
    flag: '--backend-cert <file>',
    default: 'none',
    meaning: 'The client certificate (PEM), for mutual TLS.',
  }),
  proxySetting('backendKey', filePathKind('the path of a PEM file with a private key'), {
    flag: '--backend-key <file>',
    default: 'none',
    meaning: 'The private key of the client certificate (PEM).',
  }),
  proxySetting('backendServerName', textKind('the name of a server'), {
    flag: '--backend-server-name <name>',
    default: 'the host of the target',
    meaning: 'The expected name in the certificates of the backends.',
  }),
  proxySetting('healthCheck', trueOrFalseKind, {
    default: 'true',
    meaning: "Checks the backends with gRPC's health protocol.",
  }),
  proxySetting('healthCheckIntervalMs', millisecondsKind({ least: 10, most: DAY_MS }), {
    default: '5000',
    meaning: 'The interval between health checks.',
  }),
  proxySetting('healthCheckTimeoutMs', millisecondsKind({ least: 1, most: DAY_MS }), {
    default: '2000',
    meaning: 'The timeout of a health check.',
  }),
  proxySetting('healthCheckService', textKind('the name of a service'), {
    default: 'none: the whole backend',
    meaning: 'The service name in health checks.',
  }),
  proxySetting('ejection', trueOrFalseKind, {
    default: 'true',
    meaning: 'Ejects a backend for some time after consecutive failures, but never all backends.',
  }),
  proxySetting('ejectionFailures', wholeNumberKind({ least: 1, most: 1000 }), {
    default: '5',
    meaning: 'The number of consecutive failures that eject a backend.',
  }),
  proxySetting('ejectionDurationMs', millisecondsKind({ least: 1, most: DAY_MS }), {
    default: '10000',
    meaning: 'The duration of the first ejection. It doubles with each failed trial, up to 32 times.',
  }),
];
