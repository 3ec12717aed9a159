/** Bodies that are made to be expensive: those that were found, and within each limit as much as it allows. */
import { brotliCompressSync, gzipSync } from 'node:zlib';

export interface HostileBody {
  readonly name: string;
  readonly path: string;
  readonly body: () => Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
}

const GZIP = { 'content-encoding': 'gzip' };
const MIB = 2 ** 20;
/** At default limits. */
const VALUES = 174_762;
const CONTAINERS = 65_536;
const KEYS = 21_845;
const BYTES = 4 * MIB;

const predict = (model: string) => `/v1/models/${model}:predict`;
const infer = (model: string) => `/v2/models/${model}/infer`;

/** `count` texts in a row, with commas. */
function listed(count: number, text: (index: number) => string): string {
  return Array.from({ length: Math.floor(count) }, (_, index) => text(index)).join(',');
}

/** Tensors behind the JSON. */
function binary(datatype: string, shape: readonly number[], tail: Buffer, name = 'x') {
  const parameters = `{"binary_data_size":${tail.length}}`;
  const json = `{"inputs":[{"name":"${name}","shape":[${shape}],"datatype":"${datatype}","parameters":${parameters}}]}`;
  return {
    body: () => Buffer.concat([Buffer.from(json), tail]),
    headers: {
      'content-type': 'application/octet-stream',
      'inference-header-content-length': String(json.length),
    },
  };
}

const ASCENDING_KEYS = (count: number) => listed(count, (index) => `"${index.toString(36)}x":1`);

export const FOUND: readonly HostileBody[] = [
  {
    name: '62 MiB of zeros, compressed to 61 KiB',
    path: predict('iris'),
    body: () => gzipSync(`{"instances":[${'0,'.repeat(31 * MIB)}0]}`),
    headers: GZIP,
  },
  {
    name: '1.5 million keys in parameters',
    path: infer('iris'),
    body: () => gzipSync(`{"parameters":{${ASCENDING_KEYS(1_500_000)}}}`),
    headers: GZIP,
  },
  {
    name: '990,000 rows in 19 KiB',
    path: predict('iris'),
    body: () => gzipSync(`{"instances":[${'[1,2,3,4],'.repeat(989_999)}[1,2,3,4]]}`),
    headers: GZIP,
  },
];

const SERVICE_ROUTES = ['/rows', '/flowers', '/record', '/strict', '/any', '/none'];

/** Each of these to every route: what a route does not expect must cost no more. */
const ANYWHERE: readonly Omit<HostileBody, 'path'>[] = [
  { name: 'zeros', body: () => `{"instances":[${listed(VALUES - 4, () => '0')}]}` },
  { name: 'zeros at the top', body: () => `[${listed(VALUES - 4, () => '0')}]` },
  { name: 'zeros within the bytes', body: () => `[${'0,'.repeat(BYTES / 2 - 8)}0]` },
  { name: 'empty strings', body: () => `{"rows":[[${listed(VALUES - 8, () => '""')}]]}` },
  {
    name: 'distinct strings',
    body: () => `{"rows":[[${listed(VALUES - 8, (i) => `"${i.toString(36)}"`)}]]}`,
  },
  { name: 'empty arrays', body: () => `{"instances":[${listed(CONTAINERS - 8, () => '[]')}]}` },
  { name: 'empty arrays as rows', body: () => `{"rows":[${listed(CONTAINERS - 8, () => '[""]')}]}` },
  { name: 'empty objects', body: () => `[${listed(CONTAINERS - 8, () => '{}')}]` },
  { name: 'distinct keys', body: () => `{${ASCENDING_KEYS(KEYS - 8)}}` },
  { name: 'distinct keys of strings', body: () => `{${listed(KEYS - 8, (i) => `"k${i}":"x"`)}}` },
  { name: 'an object a key', body: () => `[${listed(KEYS - 8, (i) => `{"${i.toString(36)}x":""}`)}]` },
  { name: 'a long key', body: () => `{"${'x'.repeat(BYTES - 64)}":1}` },
  { name: 'a long string', body: () => `{"text":"${'x'.repeat(BYTES - 64)}"}` },
  { name: 'a long string of escapes', body: () => `{"text":"${'\\u0000'.repeat(BYTES / 6 - 64)}"}` },
  { name: 'keys of escapes', body: () => `{${listed(KEYS - 8, (i) => `"\\u005f\\u005fproto${i}":1`)}}` },
  { name: 'prototypes', body: () => `[${listed(KEYS - 8, () => '{"__proto__":{}}')}]` },
  { name: 'one key again and again', body: () => `{${listed(KEYS - 8, () => '"instances":[]')}}` },
  { name: 'a long number', body: () => `{"instances":[${'9'.repeat(BYTES - 64)}]}` },
  {
    name: 'long integers',
    body: () => `{"instances":[${listed(BYTES / 22, () => '123456789012345678901')}]}`,
  },
  { name: 'infinities', body: () => `{"instances":[${listed(VALUES - 8, () => '1e400')}]}` },
  { name: 'deep arrays', body: () => `${'['.repeat(BYTES / 2 - 8)}${']'.repeat(BYTES / 2 - 8)}` },
  { name: 'arrays as deep as allowed', body: () => listedDeep(CONTAINERS) },
  { name: 'white space', body: () => `${' '.repeat(BYTES - 64)}{}` },
  { name: 'no JSON', body: () => `{"instances":[${'NaN ,'.repeat(BYTES / 5 - 64)}]}` },
  { name: 'quotes', body: () => '"'.repeat(BYTES - 64) },
  { name: 'backslashes', body: () => `"${'\\'.repeat(BYTES - 64)}` },
  {
    name: 'a brotli bomb',
    body: () => brotliCompressSync(Buffer.alloc(64 * MIB)),
    headers: { 'content-encoding': 'br' },
  },
  { name: 'a gzip of 4 MiB', body: () => gzipSync(noise(BYTES - 64)), headers: GZIP },
];

/** To models, within their limits and answered. */
export const ANSWERED: readonly HostileBody[] = [
  {
    name: 'many rows',
    path: predict('iris'),
    body: () => `{"instances":[${listed(VALUES / 5 - 8, () => '[1,2,3,4]')}]}`,
  },
  {
    name: 'many rows by name',
    path: predict('iris'),
    body: () => `{"instances":[${listed(KEYS - 8, () => '{"input":[1,2,3,4]}')}]}`,
  },
  {
    name: 'the last row is wrong',
    path: predict('iris'),
    body: () => `{"instances":[${listed(VALUES / 5 - 8, () => '[1,2,3,4]')},[1]]}`,
  },
  {
    name: 'rows of one value',
    path: predict('ids'),
    body: () => `{"instances":[${listed(CONTAINERS, () => '1')}]}`,
  },
  {
    name: 'long integers',
    path: predict('ids'),
    body: () => `{"instances":[${listed(CONTAINERS, () => '1234567890123456789')}]}`,
  },
  {
    name: 'long integers as rows of any number',
    path: infer('ids'),
    body: () =>
      `{"inputs":[{"name":"x","shape":[${CONTAINERS}],"datatype":"INT64","data":[${listed(CONTAINERS, () => '1234567890123456789')}]}]}`,
  },
  { name: 'texts', path: predict('texts'), body: () => `{"instances":[${listed(CONTAINERS, () => '"x"')}]}` },
  {
    name: 'texts of escapes',
    path: predict('texts'),
    body: () => `{"instances":[${listed(CONTAINERS, () => '"\\u4e2d\\ud83d\\ude00"')}]}`,
  },
  {
    name: 'texts in Base64',
    path: predict('texts'),
    body: () => `{"instances":[${listed(KEYS - 8, () => '{"b64":"AAAA"}')}]}`,
  },
  { name: 'one text', path: predict('texts'), body: () => `{"instances":["${'x'.repeat(BYTES - 64)}"]}` },
  {
    name: 'two inputs',
    path: predict('pair'),
    body: () => `{"instances":[${listed(KEYS / 2 - 8, () => '{"a":[1],"b":1}')}]}`,
  },
  {
    name: 'two inputs as columns',
    path: predict('pair'),
    body: () =>
      `{"inputs":{"a":[${listed(CONTAINERS - 8, () => '[1]')}],"b":[${listed(CONTAINERS - 8, () => '1')}]}}`,
  },
  {
    name: 'wide rows',
    path: predict('wide'),
    body: () => `{"instances":[[${listed(VALUES - 8, () => '0.1')}]]}`,
  },
  {
    name: 'rows of one value each',
    path: predict('wide'),
    body: () => `{"instances":[${listed(CONTAINERS - 8, () => '[0.1]')}]}`,
  },
  {
    name: 'empty rows',
    path: predict('wide'),
    body: () => `{"instances":[${listed(CONTAINERS - 8, () => '[]')}]}`,
  },
  {
    name: 'binary rows of four values',
    path: infer('iris'),
    ...binary('FP32', [BYTES / 16 - 64, 4], Buffer.alloc(BYTES - 1024, 1), 'input'),
  },
  {
    name: 'binary rows of one byte',
    path: infer('bytes'),
    ...binary('UINT8', [BYTES - 1024], Buffer.alloc(BYTES - 1024, 1)),
  },
  {
    name: 'binary texts of no length',
    path: infer('texts'),
    ...binary('BYTES', [BYTES / 4 - 256], Buffer.alloc(BYTES - 1024)),
  },
  {
    name: 'binary rows of one float',
    path: infer('wide'),
    ...binary('FP32', [BYTES / 4 - 256, 1], Buffer.alloc(BYTES - 1024, 1)),
  },
];

export const ROUTES = [predict('iris'), infer('iris'), ...SERVICE_ROUTES];

/** Each of the bodies for anywhere to one route: a choice that is short. */
export function oneRouteEach(): HostileBody[] {
  return ANYWHERE.map((body, index) => ({ ...body, path: ROUTES[index % ROUTES.length] as string }));
}

/** To all routes. */
export const HOSTILE: readonly HostileBody[] = [
  ...ANSWERED,
  ...ROUTES.flatMap((path) => ANYWHERE.map((body) => ({ ...body, path }))),
];

function listedDeep(containers: number): string {
  const deep = `${'['.repeat(190)}${']'.repeat(190)}`;
  return `{"rows":[${listed(containers / 190 - 1, () => deep)}]}`;
}

/** Does not compress. */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = 1;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[i] = 0x20 + (state >>> 26);
  }
  return bytes;
}
