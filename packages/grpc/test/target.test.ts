import { expect, test } from 'vitest';
import { parseTarget } from '../src/index.js';

test.each([
  ['localhost:50051', { kind: 'tcp', host: 'localhost', port: 50_051, authority: 'localhost:50051' }],
  ['10.0.0.1:1', { kind: 'tcp', host: '10.0.0.1', port: 1, authority: '10.0.0.1:1' }],
  ['[::1]:50051', { kind: 'tcp', host: '::1', port: 50_051, authority: '[::1]:50051' }],
  ['unix:/run/x.sock', { kind: 'unix', path: '/run/x.sock', authority: 'localhost' }],
  ['unix:///run/x.sock', { kind: 'unix', path: '/run/x.sock', authority: 'localhost' }],
  ['unix:x.sock', { kind: 'unix', path: 'x.sock', authority: 'localhost' }],
])('%s is understood', (target, address) => {
  expect(parseTarget(target)).toEqual(address);
});

test.each([
  '',
  'localhost',
  'localhost:',
  'localhost:0',
  'localhost:65536',
  ':50051',
  'a b:1',
  '::1:50051',
  '[abc]:1',
  'http://x:1',
  'unix:',
])('%j is refused with what was expected and what came', (target) => {
  expect(() => parseTarget(target)).toThrow(`'host:port', '[ipv6]:port' or 'unix:/path', got '${target}'`);
});
