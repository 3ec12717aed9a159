/** Everything that is wrong with a target before anything is opened has one clear message. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { LoadError } from '../src/load-error.js';
import { checkTargetSpec } from '../src/targets/check-target-spec.js';
import { readSamples } from '../src/targets/read-samples.js';
import { compileRule } from '../src/targets/success-rule.js';
import type { SuccessRule, TargetSpec } from '../src/targets/target-spec.js';

const HTTP = 'http://127.0.0.1:1/';
const GRPC = 'grpc://127.0.0.1:1/a.B/C';
const REDIS = 'redis://127.0.0.1:1/q';

const folder = mkdtempSync(join(tmpdir(), 'batchwise-load-'));
afterAll(() => rmSync(folder, { recursive: true }));
function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(LoadError);
    expect((error as LoadError).code).toBe('INVALID_OPTION');
    return (error as LoadError).message;
  }
  throw new Error('nothing was thrown');
}

describe('a target that is valid', () => {
  const valid: TargetSpec[] = [
    { url: HTTP },
    { url: 'https://localhost/a?b=c', method: 'patch', headers: { 'x-key': '1' }, tls: { insecure: true } },
    { url: 'http://[::1]:3000/v2/models/m/infer', protocol: 'open-inference' },
    { url: 'http://127.0.0.1:1/v2/models/m/versions/2/infer', protocol: 'open-inference-binary' },
    { url: HTTP, success: { json: { path: 'label' } } },
    { url: GRPC, data: [{ json: {} }, { base64: 'AAEC' }], headers: { 'x-key': '1' }, timeoutMs: 10 },
    { url: REDIS, data: [{ json: 1 }] },
    { url: 'rediss://user:secret@127.0.0.1:1/q', tls: { insecure: true } },
  ];
  test.each(valid)('is accepted: $url', (spec) => {
    checkTargetSpec(spec);
  });
});

describe('a target that is invalid', () => {
  const invalid: [TargetSpec, RegExp][] = [
    [
      { url: 'localhost:3000/classify' },
      /^url: expected http:.*Did you mean http:\/\/localhost:3000\/classify\?$/,
    ],
    [{ url: '/classify' }, /^url: expected http:.*got "\/classify"\.$/],
    [{ url: 'ftp://127.0.0.1/x' }, /^url: expected http:/],
    [{ url: 'http://127.0.0.1:99999/' }, /^url: expected http:/],
    [{ url: 'http://u:p@127.0.0.1/' }, /authorization/],
    [{ url: 'http://127.0.0.1/#a' }, /no fragment, got #a/],
    [{ url: HTTP, timeoutMs: -1 }, /^timeoutMs: /],
    [{ url: HTTP, method: 'P ST' }, /^method: expected an HTTP method/],
    [{ url: HTTP, method: 'GET', data: [{ json: 1 }] }, /^data: expected none with GET/],
    [{ url: HTTP, headers: { 'a b': '1' } }, /^headers: .*a b/],
    [{ url: HTTP, headers: { a: 'x\r\ny' } }, /^headers: .*"a"/],
    [{ url: HTTP, headers: { 'Content-Length': '1' } }, /^headers: Content-Length is set for each request/],
    [{ url: HTTP, data: [{ base64: '%' }] }, /^data\.0: expected \{ json \} or \{ base64 \}/],
    [{ url: HTTP, data: [{}] } as unknown as TargetSpec, /^data\.0: expected \{ json \} or \{ base64 \}/],
    [{ url: HTTP, tls: { insecure: true } }, /^tls: expected only with an https/],
    [{ url: 'https://127.0.0.1/', tls: { ca: '/no/such/file' } }, /^tls\.ca: .*ENOENT/],
    [{ url: HTTP, proto: 'a.proto' }, /^proto: expected only with a grpc/],
    [{ url: HTTP, protocol: 'open-inference' }, /^url: expected \/v2\/models\/NAME\/infer/],
    [{ url: HTTP, success: { status: ['2x'] } }, /^success\.status: expected 2xx, 200 or 200-299, got "2x"/],
    [{ url: HTTP, unknown: 1 } as unknown as TargetSpec, /^target: .*unknown/],
    [{ url: 'grpc://127.0.0.1/a.B/C' }, /^url: expected a port/],
    [{ url: 'grpc://127.0.0.1:1/B' }, /^url: expected \/package\.Service\/Method, got "\/B"/],
    [{ url: GRPC, headers: { 'a b': '1' } }, /^headers: /],
    [{ url: 'grpcs://127.0.0.1:1/a.B/C', tls: { insecure: true } }, /^tls\.insecure: .*tls\.ca/],
    [{ url: GRPC, headers: { 'grpc-timeout': '1S' } }, /^headers: grpc-timeout is set for each request/],
    [{ url: GRPC, success: { body: 'x' } }, /^success: expected only with an http/],
    [{ url: REDIS, headers: { a: 'b' } }, /^headers: expected only with an http/],
    [{ url: 'redis://127.0.0.1:1/' }, /^url: expected redis:\/\/host:port\/queue/],
    [
      { url: REDIS, data: [{ json: 1 }, { base64: 'AAEC' }] },
      /^data: expected all samples of a queue as JSON/,
    ],
  ];
  test.each(invalid)('is refused: %j', (spec, message) => {
    expect(messageOf(() => checkTargetSpec(spec))).toMatch(message);
  });
});

describe('sample data', () => {
  test('is one sample, or an array of them', () => {
    expect(readSamples('{"a":[1]}')).toEqual([{ json: { a: [1] } }]);
    expect(readSamples('[1,{"a":2}]')).toEqual([{ json: 1 }, { json: { a: 2 } }]);
  });

  test('comes from files of JSON, of lines, of bytes', () => {
    expect(readSamples(`@${file('a.json', '[[1],[2]]')}`)).toEqual([{ json: [1] }, { json: [2] }]);
    expect(readSamples(`@${file('a.jsonl', '[1]\n\n{"b":2}\r\n')}`)).toEqual([
      { json: [1] },
      { json: { b: 2 } },
    ]);
    expect(readSamples(`@${file('a.png', Uint8Array.of(0, 255))}`)).toEqual([{ base64: 'AP8=' }]);
  });

  test('that is invalid is refused, with its place', () => {
    expect(messageOf(() => readSamples('sample.json'))).toMatch(/^data: expected JSON.*@file\.json/);
    expect(messageOf(() => readSamples('[]'))).toMatch(/^data: expected at least one sample/);
    expect(messageOf(() => readSamples(`@${file('b.jsonl', '{}\n{')}`))).toMatch(/b\.jsonl:2: expected JSON/);
    expect(messageOf(() => readSamples(`@${file('c.jsonl', '\n')}`))).toMatch(
      /c\.jsonl: expected one sample a line/,
    );
    expect(messageOf(() => readSamples(`@${file('d.bin', '')}`))).toMatch(/an empty file/);
    expect(messageOf(() => readSamples('@/no/such/file'))).toMatch(
      /^data: \/no\/such\/file cannot be read: ENOENT/,
    );
  });
});

describe('a success rule', () => {
  const whyNot = (rule: SuccessRule, body: string) => compileRule(rule).checkBody?.(Buffer.from(body));

  test('takes classes, ranges and single statuses', () => {
    const { isStatus } = compileRule({ status: ['2xx', '404', '500-502'] });
    expect([199, 200, 299, 300, 404, 405, 499, 500, 502, 503].filter(isStatus)).toEqual([
      200, 299, 404, 500, 502,
    ]);
    const byDefault = compileRule().isStatus;
    expect([199, 200, 299, 300].filter(byDefault)).toEqual([200, 299]);
  });

  test('reads bodies only where it says something of them', () => {
    expect(compileRule({ status: ['200'] }).checkBody).toBeUndefined();
  });

  test('finds members of JSON, and compares them without regard to order', () => {
    const body = '{"outputs":[{"name":"label","data":{"b":1,"a":[2]}}],"x":null}';
    expect(whyNot({ json: { path: 'outputs.0.name' } }, body)).toBeUndefined();
    expect(whyNot({ json: { path: 'x' } }, body)).toBeUndefined();
    expect(whyNot({ json: { path: 'x', value: null } }, body)).toBeUndefined();
    expect(whyNot({ json: { path: 'outputs.0.data', value: { a: [2], b: 1 } } }, body)).toBeUndefined();
    expect(whyNot({ json: { path: 'outputs.1' } }, body)).toBe('JSON body without outputs.1');
    expect(whyNot({ json: { path: 'outputs.length' } }, '{"outputs":{}}')).toBe(
      'JSON body without outputs.length',
    );
    expect(whyNot({ json: { path: 'outputs.0.name', value: 'a' } }, body)).toBe('outputs.0.name is not "a"');
    expect(whyNot({ json: { path: 'constructor' } }, '{}')).toBe('JSON body without constructor');
    expect(whyNot({ json: { path: 'a' } }, 'a')).toBe('body is not JSON');
  });

  test('finds texts and expressions; both of two rules have to hold', () => {
    expect(whyNot({ body: 'größe' }, 'die größe')).toBeUndefined();
    expect(whyNot({ body: 'größe' }, 'die')).toBe('body does not contain "größe"');
    expect(whyNot({ body: '/^A.c$/i' }, 'abc')).toBeUndefined();
    expect(whyNot({ body: 'a', json: { path: 'a', value: 1 } }, '{"a":2}')).toBe('a is not 1');
  });

  test('a value that is nested too deeply to be compared is another value', () => {
    // `JSON.stringify` throws for it, which ended the process.
    const deep = `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    expect(whyNot({ json: { path: 'a', value: 1 } }, deep)).toBe('a is not 1');
  });

  test.each([
    [{ status: [] }, /at least one/],
    [{ status: ['600'] }, /got "600"/],
    [{ status: ['299-200'] }, /got "299-200"/],
    [{ body: '' }, /^success\.body/],
    [{ body: '/(/' }, /^success\.body: .*Unterminated group/],
    [{ body: '/a/g' }, /without the flags g and y/],
    [{ json: { path: '' } }, /^success\.json\.path/],
  ])('that is invalid is refused: %j', (rule, message) => {
    expect(messageOf(() => compileRule(rule))).toMatch(message);
  });
});
