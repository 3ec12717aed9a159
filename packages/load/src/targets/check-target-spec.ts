/** What is wrong with a target, before anything is opened: one clear message. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { checkSendable } from '@batchwise/grpc';
import { z } from 'zod';
import { LoadError } from '../load-error.js';
import { certificates } from './http-connector.js';
import { compileRule } from './success-rule.js';
import type { Sample, TargetSpec } from './target-spec.js';

const FORMS =
  'http://host:port/path, https://…, grpc://host:port/package.Service/Method, grpcs://…, redis://host:port/queue or rediss://…';

const schema = z.strictObject({
  url: z.string(),
  protocol: z.enum(['http', 'open-inference', 'open-inference-binary']).optional(),
  method: z
    .string()
    .regex(/^[A-Za-z]+$/, 'expected an HTTP method, such as POST')
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  data: z.array(z.custom<Sample>(isSample, 'expected { json } or { base64 }')).optional(),
  proto: z.string().min(1).optional(),
  timeoutMs: z.number().positive().optional(),
  tls: z.strictObject({ ca: z.string().min(1).optional(), insecure: z.boolean().optional() }).optional(),
  success: z
    .strictObject({
      status: z.array(z.string()).optional(),
      body: z.string().optional(),
      json: z.strictObject({ path: z.string(), value: z.unknown().optional() }).optional(),
    })
    .optional(),
});

/** Headers that say where a message ends or what becomes of its connection: undici's to set. */
const NOT_TO_BE_SET = new Set([
  'content-length',
  'transfer-encoding',
  'keep-alive',
  'upgrade',
  'expect',
  'te',
]);

/** The same of gRPC. */
const OF_CALLS = new Set(['te', 'content-type', 'content-length', 'connection', 'host', 'transfer-encoding']);

/** @throws {LoadError} INVALID_OPTION */
export function checkTargetSpec(spec: TargetSpec): void {
  const { error } = schema.safeParse(spec);
  const [issue] = error?.issues ?? [];
  if (issue !== undefined) {
    const where = issue.path.length === 0 ? 'target' : issue.path.join('.');
    throw invalid(`${where}: ${issue.message}.`);
  }
  const url = urlOf(spec.url);
  switch (url.protocol) {
    case 'http:':
    case 'https:':
      checkHttp(spec, url);
      break;
    case 'grpc:':
    case 'grpcs:':
      checkGrpc(spec, url);
      break;
    default:
      checkRedis(spec, url);
  }
  if (spec.tls?.ca !== undefined) certificates(spec.tls.ca);
}

/** Not zod's own `json()`: it looks at every number of a sample, and takes seconds for images. */
function isSample(value: unknown): value is Sample {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return false;
  if ('json' in value) return value.json !== undefined;
  return 'base64' in value && typeof value.base64 === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value.base64);
}

function urlOf(text: string): URL {
  if (!URL.canParse(text)) {
    const hint = /^[^/]+(:\d+)?(\/|$)/.test(text) ? ` Did you mean http://${text}?` : '';
    throw invalid(`url: expected ${FORMS}, got ${JSON.stringify(text)}.${hint}`);
  }
  const url = new URL(text);
  if (!/^(https?|grpcs?|rediss?):$/.test(url.protocol)) {
    // `localhost:3000/x` is a URL, with the scheme `localhost:`.
    const isHost = /^[\w.-]+:\d+(\/|$)/.test(text);
    const hint = isHost ? ` Did you mean http://${text}?` : '';
    throw invalid(`url: expected ${FORMS}, got ${JSON.stringify(text)}.${hint}`);
  }
  if (url.hostname === '') throw invalid(`url: expected a host, got none in ${JSON.stringify(text)}.`);
  if (url.hash !== '') throw invalid(`url: expected no fragment, got ${url.hash}.`);
  return url;
}

function checkHttp(spec: TargetSpec, url: URL): void {
  if (url.username !== '' || url.password !== '') {
    throw invalid('url: expected no user and password. Give them as a header: authorization.');
  }
  if (spec.proto !== undefined) throw invalid('proto: expected only with a grpc:// URL.');
  if (spec.tls !== undefined && url.protocol === 'http:') {
    throw invalid('tls: expected only with an https:// URL.');
  }
  for (const [name, value] of Object.entries(spec.headers ?? {})) checkHeader(name, value);
  if (spec.protocol !== undefined && spec.protocol !== 'http') {
    if (!/\/v2\/models\/[^/]+(\/versions\/[^/]+)?\/infer$/.test(url.pathname)) {
      throw invalid(`url: expected /v2/models/NAME/infer with ${spec.protocol}, got ${url.pathname}.`);
    }
    if (spec.method !== undefined && spec.method.toUpperCase() !== 'POST') {
      throw invalid(`method: expected POST with ${spec.protocol}, got ${spec.method}.`);
    }
  }
  if ((spec.data?.length ?? 0) > 0 && /^(get|head|trace|connect)$/i.test(spec.method ?? '')) {
    throw invalid(`data: expected none with ${spec.method}.`);
  }
  compileRule(spec.success);
}

function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch (error) {
    throw invalid(`headers: ${(error as Error).message}.`, error);
  }
  if (NOT_TO_BE_SET.has(name.toLowerCase())) throw invalid(`headers: ${name} is set for each request.`);
}

function checkGrpc(spec: TargetSpec, url: URL): void {
  if (url.port === '')
    throw invalid(`url: expected a port, such as grpc://${url.hostname}:50051/…, got none.`);
  if (!/^\/[\w.]+\/\w+$/.test(url.pathname)) {
    throw invalid(`url: expected /package.Service/Method, got ${JSON.stringify(url.pathname)}.`);
  }
  if (url.search !== '') throw invalid(`url: expected no query, got ${url.search}.`);
  expectNone(spec, ['protocol', 'method', 'success'], 'grpc://');
  for (const [name, value] of Object.entries(spec.headers ?? {})) checkMetadata(name.toLowerCase(), value);
  if (spec.tls !== undefined && url.protocol === 'grpc:')
    throw invalid('tls: expected only with a grpcs:// URL.');
  if (spec.tls?.insecure) {
    throw invalid('tls.insecure: expected only with https:// and rediss://. Give the authority as tls.ca.');
  }
}

function checkMetadata(name: string, value: string): void {
  try {
    checkSendable({ [name]: value });
  } catch (error) {
    throw invalid(`headers: ${(error as Error).message}.`, error);
  }
  if (/^(:|grpc-)/.test(name) || OF_CALLS.has(name))
    throw invalid(`headers: ${name} is set for each request.`);
}

function checkRedis(spec: TargetSpec, url: URL): void {
  if (!/^\/[^/]+$/.test(url.pathname)) {
    throw invalid(`url: expected redis://host:port/queue, got the path ${JSON.stringify(url.pathname)}.`);
  }
  expectNone(spec, ['protocol', 'method', 'headers', 'proto', 'success'], 'redis://');
  if (spec.tls !== undefined && url.protocol === 'redis:')
    throw invalid('tls: expected only with a rediss:// URL.');
  if (new Set(spec.data?.map((sample) => 'json' in sample)).size > 1) {
    throw invalid('data: expected all samples of a queue as JSON, or all as bytes, got both.');
  }
}

function expectNone(spec: TargetSpec, options: readonly (keyof TargetSpec)[], scheme: string): void {
  for (const option of options) {
    if (spec[option] !== undefined)
      throw invalid(`${option}: expected only with an http:// URL, got ${scheme}.`);
  }
}

function invalid(message: string, cause?: unknown): LoadError {
  return new LoadError('INVALID_OPTION', message, { cause });
}
