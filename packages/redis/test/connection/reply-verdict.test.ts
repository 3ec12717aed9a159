import { expect, test } from 'vitest';
import { ReplyError } from '../../src/connection/link-errors.js';
import { verdictOn } from '../../src/connection/reply-verdict.js';

const from = { host: 'asked', port: 1 };

test.each([
  ['LOADING Redis is loading the dataset in memory', { kind: 'later' }],
  ['CLUSTERDOWN Hash slot not served', { kind: 'elsewhere' }],
  ['TRYAGAIN Multiple keys request during rehashing of slot', { kind: 'later' }],
  ['BUSY Redis is busy running a script.', { kind: 'later' }],
  ["READONLY You can't write against a read only replica.", { kind: 'elsewhere' }],
  [
    "READONLY You can't write against a read only replica. script: 1f, on @user_script:1.",
    { kind: 'elsewhere' },
  ],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", { kind: 'elsewhere' }],
  ['UNBLOCKED force unblock from blocking operation, instance state changed', { kind: 'elsewhere' }],
  ['NOSCRIPT No matching script.', { kind: 'no-script' }],
  ['MOVED 3999 127.0.0.1:6381', { kind: 'moved', to: { host: '127.0.0.1', port: 6381 } }],
  ['MOVED 3999 :6381', { kind: 'moved', to: { host: 'asked', port: 6381 } }],
  ['MOVED 3999 ?:6381', { kind: 'moved', to: { host: 'asked', port: 6381 } }],
  ['ASK 1 ::1:7000', { kind: 'ask', to: { host: '::1', port: 7000 } }],
  ['ASK 1 node-2.local:7000', { kind: 'ask', to: { host: 'node-2.local', port: 7000 } }],
  ['OOM command not allowed', { kind: 'failed' }],
  ['ERR LOADING is not what this is about', { kind: 'failed' }],
  ['MOVED to nowhere', { kind: 'failed' }],
])('%s', (message, verdict) => {
  expect(verdictOn(new ReplyError(message), from)).toEqual(verdict);
});
