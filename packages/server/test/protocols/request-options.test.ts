import { describe, expect, test } from 'vitest';
import { checkContentType } from '../../src/protocols/content-type.js';
import { requestOptions } from '../../src/protocols/request-options.js';

const TRUST = { trustedHeaders: ['priority', 'tenant'] } as const;

describe('options in headers', () => {
  test('are what the batcher is told; without any it is told nothing', () => {
    expect(requestOptions({ host: 'x' })).toBeUndefined();
    expect(
      requestOptions(
        {
          'batchwise-timeout-ms': '12.5',
          'batchwise-priority': '-7',
          'batchwise-tenant': 'acme/eu-1',
        },
        TRUST,
      ),
    ).toEqual({ timeoutMs: 12.5, priority: -7, tenant: 'acme/eu-1' });
  });

  test('of priority and tenant are ignored unless they are trusted, whatever they say', () => {
    const headers = { 'batchwise-priority': '100', 'batchwise-tenant': 'a' };
    expect(requestOptions(headers)).toBeUndefined();
    expect(requestOptions({ 'batchwise-priority': 'high', 'batchwise-tenant': '' })).toBeUndefined();
    expect(requestOptions(headers, { trustedHeaders: ['priority'] })).toEqual({ priority: 100 });
    expect(requestOptions(headers, { trustedHeaders: ['tenant'] })).toEqual({ tenant: 'a' });
  });

  test('a time-out longer than the longest is cut to it', () => {
    expect(
      requestOptions({ 'batchwise-timeout-ms': '999999999999' }, { maxTimeoutMs: 5000 })?.timeoutMs,
    ).toBe(5000);
    expect(requestOptions({ 'batchwise-timeout-ms': '4000' }, { maxTimeoutMs: 5000 })?.timeoutMs).toBe(4000);
  });

  // At most six decimals were read: what was left of a deadline, written out by a program, was refused.
  test.each([
    '199.99313354492188',
    '6666.666666666667',
    '1000000000000.0',
    '1e3',
    '2.5E-7',
    '1e+21',
    '5e-324',
  ])('a time-out is read however a program writes it: %s', (text) => {
    expect(requestOptions({ 'batchwise-timeout-ms': text })?.timeoutMs).toBe(Number(text));
  });

  test.each([
    [
      'batchwise-timeout-ms',
      [
        '',
        '0',
        '-1',
        'NaN',
        'Infinity',
        '0x10',
        '.5',
        '5.',
        '1e',
        '1e999',
        '1e-999',
        '5, 6',
        '1'.repeat(400),
      ],
      'a number of milliseconds above 0',
    ],
    ['batchwise-priority', ['', '101', '-101', '1.5', 'high', '1, 2'], 'a whole number from -100 to 100'],
    ['batchwise-tenant', ['', 'a, b', 'é', 'x'.repeat(129)], '1 to 128 visible ASCII characters'],
  ])('%s is checked', (name, values, expected) => {
    for (const value of values) {
      const shown = JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
      expect(() => requestOptions({ [name]: value }, TRUST)).toThrow(
        `header ${name}: expected ${expected}, got ${shown}.`,
      );
    }
  });
});

describe('the content type', () => {
  test.each([
    undefined,
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/cloudevents+json',
    'application/octet-stream',
    'application/x-www-form-urlencoded',
  ])('%s is read', (type) => {
    expect(() => checkContentType(type === undefined ? {} : { 'content-type': type })).not.toThrow();
  });

  // A page of any site may have a browser send these without asking first.
  test.each([
    undefined,
    'application/x-www-form-urlencoded',
    'Application/X-WWW-Form-Urlencoded; charset=utf-8',
  ])('%s is refused from a browser, unless for a page of the server itself', (type) => {
    const headers = type === undefined ? {} : { 'content-type': type };
    expect(() => checkContentType(headers)).not.toThrow();
    for (const own of [
      { 'sec-fetch-mode': 'cors' }, // Node's fetch
      { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin', origin: 'http://localhost:3000' },
      { origin: 'http://localhost:3000', host: 'localhost:3000' },
    ]) {
      expect(() => checkContentType({ ...headers, ...own })).not.toThrow();
    }
    for (const browser of [
      { origin: 'http://evil.example' },
      { origin: 'http://localhost:4000', host: 'localhost:3000' },
      { origin: 'http://localhost:3000', host: 'localhost:3000', 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-mode': 'no-cors' },
      { 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-dest': 'document' },
    ]) {
      expect(() => checkContentType({ ...headers, ...browser })).toThrow(
        expect.objectContaining({ code: 'UNSUPPORTED_MEDIA_TYPE' }),
      );
      expect(() => checkContentType({ 'content-type': 'application/json', ...browser })).not.toThrow();
    }
  });

  test.each([
    ['text/plain', 'expected application/json or application/octet-stream, got "text/plain".'],
    [
      'Text/Plain;charset=UTF-8',
      'expected application/json or application/octet-stream, got "Text/Plain;charset=UTF-8".',
    ],
    [
      'multipart/form-data; boundary=x',
      'expected application/json or application/octet-stream, got "multipart/form-data; boundary=x".',
    ],
    ['image/png', 'expected application/json or application/octet-stream, got "image/png".'],
    ['', 'expected application/json or application/octet-stream, got "".'],
    ['application/json; charset=utf-16', 'expected UTF-8, got the charset "utf-16".'],
  ])('%s is refused with 415', (type, message) => {
    expect(() => checkContentType({ 'content-type': type })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_MEDIA_TYPE', message: `header content-type: ${message}` }),
    );
  });
});
