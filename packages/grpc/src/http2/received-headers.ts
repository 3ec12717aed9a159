import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import { isMetadata } from '../metadata.js';
import { ERROR_CODE } from './error-code.js';

/** As HTTP/2 counts them. */
export const MAX_HEADER_BYTES = 64 * 1024;
const ENTRY_BYTES = 32;

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const UPPER_CASE = /[A-Z]/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Of HTTP/1's connections; in HTTP/2 they make a message invalid. */
const OF_CONNECTIONS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Of these the first one counts; of others that are no metadata, several are joined. */
const ONCE = new Set(['content-encoding', 'content-length', 'content-type', 'date', 'host', 'user-agent']);

/**
 * One list of headers or trailers as it comes in, in the form that `node:http2` gives them; but metadata that came several
 * times is a list, to be passed on as it came. What a stream cannot live with is its `errorCode`.
 */
export abstract class ReceivedHeaders {
  readonly headers: IncomingHttpHeaders & IncomingHttpStatusHeader = Object.create(null);
  errorCode: number = ERROR_CODE.NO_ERROR;
  protected hasPlainFields = false;
  readonly #maxFields: number;
  #fields = 0;
  #bytes = 0;

  constructor(maxFields: number) {
    this.#maxFields = maxFields;
  }

  readonly add = (name: string, value: string): void => {
    this.#fields += 1;
    this.#bytes += name.length + value.length + ENTRY_BYTES;
    if (this.#fields > this.#maxFields || this.#bytes > MAX_HEADER_BYTES)
      this.errorCode = ERROR_CODE.ENHANCE_YOUR_CALM;
    if (this.errorCode !== ERROR_CODE.NO_ERROR) return;
    if (name.charCodeAt(0) === COLON) this.addPseudo(name, value);
    else this.#addPlain(name, value);
  };

  /** As HTTP/2 counts them. */
  get bytes(): number {
    return this.#bytes;
  }

  protected abstract addPseudo(name: string, value: string): void;

  /** A field whose name or value is no HTTP. */
  protected abstract addBroken(): void;

  /** False for one that breaks the whole list. */
  protected abstract allows(name: string, value: string): boolean;

  #addPlain(name: string, value: string): void {
    this.hasPlainFields = true;
    if (!NAME.test(name)) {
      if (UPPER_CASE.test(name)) this.errorCode = ERROR_CODE.PROTOCOL_ERROR;
      else this.addBroken();
      return;
    }
    if (OF_CONNECTIONS.has(name) || !this.allows(name, value)) {
      this.errorCode = ERROR_CODE.PROTOCOL_ERROR;
      return;
    }
    if (!VALUE.test(value)) {
      this.addBroken();
      return;
    }
    const { headers } = this;
    const earlier = headers[name];
    // A list is appended to, never copied: the same entry a few hundred times would cost their square.
    if (Array.isArray(earlier)) earlier.push(value);
    else if (name === 'set-cookie') headers[name] = [value];
    else if (earlier === undefined) headers[name] = value;
    else if (name !== 'cookie' && isMetadata(name)) headers[name] = [earlier, value];
    else if (!ONCE.has(name)) headers[name] = `${earlier}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
}

const COLON = 0x3a;
