import { describe, expect, test } from 'vitest';
import { nameOfUpstream, parseUpstream } from '../../src/index.js';

describe('the URL of an upstream', () => {
  test.each([
    ['grpc://gpu:8001', { kind: 'grpc-model', target: 'gpu:8001', isTls: false, model: undefined }],
    ['grpc://gpu:8001/minilm', { kind: 'grpc-model', model: 'minilm', version: undefined }],
    ['grpcs://gpu:8001/minilm/3/', { kind: 'grpc-model', isTls: true, model: 'minilm', version: '3' }],
    ['grpc://[::1]:8001/a%20b', { kind: 'grpc-model', target: '[::1]:8001', model: 'a b' }],
    ['http://gpu', { kind: 'http-model', origin: 'http://gpu', model: undefined }],
    ['http://gpu:8000/v2', { kind: 'http-model', origin: 'http://gpu:8000', model: undefined }],
    [
      'https://gpu/v2/models/m',
      { kind: 'http-model', origin: 'https://gpu', model: 'm', version: undefined },
    ],
    ['http://gpu/a/v2/models/m/versions/2/infer', { origin: 'http://gpu/a', model: 'm', version: '2' }],
    ['http://gpu:8501/v1/models/m:predict', { kind: 'predict' }],
    ['http://gpu/classify?fast=1', { kind: 'predict' }],
    ['grpc-stream://b:50051/pkg.S/BatchedCompute', { kind: 'grpc-stream', path: '/pkg.S/BatchedCompute' }],
    ['grpcs-stream://b:50051/pkg.S/M', { kind: 'grpc-stream', isTls: true, target: 'b:50051' }],
  ])('%s says where it is and what it speaks', (url, parts) => {
    expect(parseUpstream(url)).toMatchObject({ url, ...parts });
  });

  test.each([
    ['gpu:8001', /expected a URL such as/],
    ['ftp://gpu/m', /expected a URL such as/],
    ['grpc://gpu/m', /expected a port/],
    ['grpc://gpu:1/a/b/c', /a model and its version/],
    ['grpc://gpu:1/a//', /a name between two slashes/],
    ['grpc://gpu:1/%zz', /escapes/],
    ['grpc-stream://gpu:1/Compute', /a service and its method/],
    ['http://gpu/v2/models/m?x=1', /no \?/],
    ['grpc://gpu:1/m#x', /no #/],
  ])('%s is refused with what was expected', (url, message) => {
    expect(() => parseUpstream(url)).toThrow(message);
  });

  test('with a password is refused without showing it', () => {
    const parse = () => parseUpstream('http://me:secret@gpu/v2/models/m');
    expect(parse).toThrow(/no user and password/);
    expect(parse).not.toThrow(/secret/);
  });

  test.each([
    ['grpc://gpu:8001/minilm', 'minilm'],
    ['grpc://gpu:8001', 'gpu'],
    ['http://gpu/v2/models/bert', 'bert'],
    ['http://gpu/v1/models/half_plus_two:predict', 'half_plus_two'],
    ['grpc-stream://b:50051/pkg.S/BatchedCompute', 'BatchedCompute'],
  ])('%s gives its runner a name', (url, name) => {
    expect(nameOfUpstream(parseUpstream(url))).toBe(name);
  });
});
