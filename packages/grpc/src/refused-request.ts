import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { isBase64, valuesOf } from './binary-metadata.js';
import { STATUS } from './status.js';
import { encodeStatusMessage } from './status-message.js';

/** The answer to a request that is no gRPC call, or a broken one; undefined for a good one. */
export function refusalOf(
  headers: IncomingHttpHeaders,
  headerBytes: number,
  timeoutMs: number | undefined,
  maxHeaderBytes: number,
): OutgoingHttpHeaders | undefined {
  if (headerBytes > maxHeaderBytes) {
    return {
      ':status': 431,
      ...status(
        STATUS.RESOURCE_EXHAUSTED,
        `expected at most ${maxHeaderBytes} bytes of headers in a call, got more`,
      ),
    };
  }
  const contentType = headers['content-type'];
  if (contentType === undefined || !GRPC_CONTENT.test(contentType)) {
    return {
      ':status': 415,
      ...status(
        STATUS.INTERNAL,
        `expected the content-type application/grpc, got ${contentType === undefined ? 'none' : `'${contentType}'`}`,
      ),
    };
  }
  if (headers[':method'] !== 'POST') {
    return {
      ':status': 405,
      allow: 'POST',
      ...status(STATUS.INTERNAL, `expected the method POST, got ${headers[':method']}`),
    };
  }
  const path = headers[':path'];
  if (path === undefined || !GRPC_PATH.test(path)) {
    return {
      ':status': 200,
      'content-type': contentType,
      ...status(STATUS.UNIMPLEMENTED, `expected a path like /package.Service/Method, got '${path}'`),
    };
  }
  if (timeoutMs === undefined && headers['grpc-timeout'] !== undefined) {
    return {
      ':status': 200,
      'content-type': contentType,
      ...status(
        STATUS.INTERNAL,
        `expected up to eight digits and one of H, M, S, m, u, n as grpc-timeout, got '${headers['grpc-timeout']}'`,
      ),
    };
  }
  const broken = brokenBinary(headers);
  if (broken !== undefined) {
    return {
      ':status': 200,
      'content-type': contentType,
      ...status(STATUS.INTERNAL, `expected base64 in '${broken}', as in all metadata that ends in -bin`),
    };
  }
  return undefined;
}

/** Some servers drop the whole connection for it, which calls of others share. */
function brokenBinary(headers: IncomingHttpHeaders): string | undefined {
  for (const name in headers) {
    if (name.endsWith('-bin') && !valuesOf(name, headers[name]).every(isBase64)) return name;
  }
  return undefined;
}

/** `application/grpc`, with a kind of message (`+proto`) or parameters, but not `application/grpc-web`. */
const GRPC_CONTENT = /^application\/grpc(?:$|[+;])/i;
const GRPC_PATH = /^\/[^/]+(?:\/[^/]+)+$/;

function status(code: number, message: string): OutgoingHttpHeaders {
  return { 'grpc-status': String(code), 'grpc-message': encodeStatusMessage(message) };
}
