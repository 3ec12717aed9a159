/** A route for a file that belongs to a page of the server. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HttpRoute } from './http-route.js';

const compressed = promisify(gzip);

export interface ServedFile {
  /** Behind the address of the page and a slash. */
  readonly name: string;
  readonly contentType: string;
  read(): Promise<Buffer>;
}

/**
 * `page` is the path of the page, and what metrics call its files, too: each by its own name would be a dozen
 * routes that nobody asks about. Read when first asked for, and kept: it is the same as long as the process lives.
 */
export function fileRoute(page: string, file: ServedFile, cacheControl: string): HttpRoute {
  let kept: Promise<{ readonly plain: Buffer; readonly zipped: Buffer }> | undefined;
  const load = async () => {
    const plain = await file.read();
    return { plain, zipped: await compressed(plain) };
  };
  return {
    method: 'GET',
    path: `${page}/${file.name}`,
    label: page,
    isWork: false,
    async handle(call) {
      kept ??= load();
      const { plain, zipped } = await kept.catch((error: unknown) => {
        kept = undefined;
        throw error;
      });
      const isZipped = acceptsGzip(call.headers['accept-encoding']);
      const headers = {
        'content-type': file.contentType,
        'cache-control': cacheControl,
        'x-content-type-options': 'nosniff',
        vary: 'accept-encoding',
      };
      call.reply(
        200,
        isZipped ? { ...headers, 'content-encoding': 'gzip' } : headers,
        isZipped ? zipped : plain,
      );
    },
  };
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(header ?? ''));
}
