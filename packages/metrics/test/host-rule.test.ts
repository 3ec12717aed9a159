import { expect, test } from 'vitest';
import { hostRule } from '../src/host-rule.js';

const LOCAL = [
  'localhost',
  'LOCALHOST:3000',
  'localhost.',
  'app.localhost:80',
  '127.0.0.1',
  '127.0.0.1:3000',
  '127.255.0.9:1',
  '[::1]',
  '[::1]:3000',
];
const FOREIGN = [
  'evil.example',
  'evil.example:3000',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1evil.example',
  'evil.example.localhost.example',
  'notlocalhost',
  '[::1].evil.example',
  '[::1',
  'localhost:3000@evil.example',
  'evil.example#.localhost',
  'evil.example/.localhost',
  'evil.example@a.localhost',
  '',
  ' ',
];

test.each(['127.0.0.1', '127.0.0.53', '::1', '::ffff:127.0.0.1'])(
  'on %s only loopback names are allowed',
  (at) => {
    const isAllowed = hostRule(at);
    expect(LOCAL.filter((host) => isAllowed?.(host) !== true)).toEqual([]);
    expect(FOREIGN.filter((host) => isAllowed?.(host) !== false)).toEqual([]);
    expect(isAllowed?.(undefined)).toBe(true);
  },
);

test('allowedHosts are also allowed on a loopback address', () => {
  const isAllowed = hostRule('127.0.0.1', ['Models.example']);
  expect(['models.example', 'MODELS.example.:8080', 'localhost'].map((host) => isAllowed?.(host))).toEqual([
    true,
    true,
    true,
  ]);
  expect(['a.models.example', 'models.example.evil.example'].map((host) => isAllowed?.(host))).toEqual([
    false,
    false,
  ]);
});

test.each(['0.0.0.0', '::'])('on %s every host is allowed without allowedHosts', (at) => {
  expect(hostRule(at)).toBeUndefined();
  const isAllowed = hostRule(at, ['models.example']);
  expect(
    ['models.example:80', 'localhost', '127.0.0.1:80', '0.0.0.0:80'].every((host) => isAllowed?.(host)),
  ).toBe(true);
  expect(isAllowed?.('evil.example')).toBe(false);
});

test('an asterisk allows every host', () => {
  expect(hostRule('127.0.0.1', ['*'])).toBeUndefined();
});
