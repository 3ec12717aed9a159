import { ERROR_CODE } from './error-code.js';
import { ReceivedHeaders } from './received-headers.js';

const MAX_FIELDS = 128;
const LENGTH = /^\d{1,15}$/;
const PSEUDO = new Set([':method', ':scheme', ':authority', ':path']);
const PRINTABLE = /^[\x21-\x7e\x80-\xff]*$/;

/** Of a request, or its trailers. Strangers send it, so what is no HTTP makes it invalid as a whole. */
export class ReceivedRequest extends ReceivedHeaders {
  #pseudoFields = 0;

  constructor() {
    super(MAX_FIELDS);
  }

  /** Has everything that a request needs. */
  get isRequest(): boolean {
    const { ':method': method, ':scheme': scheme, ':path': path, ':authority': authority } = this.headers;
    if (this.errorCode !== ERROR_CODE.NO_ERROR || !method) return false;
    if (method === 'CONNECT') return scheme === undefined && path === undefined && !!authority;
    return !!scheme && !!path;
  }

  /** Has nothing that only a request may have. */
  get isTrailers(): boolean {
    return this.errorCode === ERROR_CODE.NO_ERROR && this.#pseudoFields === 0;
  }

  /** What `content-length` says; -1 when it says nothing. */
  get contentBytes(): number {
    const length = this.headers['content-length'];
    return length === undefined ? -1 : Number(length);
  }

  protected override addPseudo(name: string, value: string): void {
    const { headers } = this;
    const isValid =
      PSEUDO.has(name) && !this.hasPlainFields && headers[name] === undefined && PRINTABLE.test(value);
    this.#pseudoFields += 1;
    if (isValid) headers[name] = value;
    else this.errorCode = ERROR_CODE.PROTOCOL_ERROR;
  }

  protected override addBroken(): void {
    this.errorCode = ERROR_CODE.PROTOCOL_ERROR;
  }

  protected override allows(name: string, value: string): boolean {
    if (name === 'te') return value === 'trailers';
    if (name !== 'content-length') return true;
    const earlier = this.headers[name];
    return LENGTH.test(value) && (earlier === undefined || earlier === value);
  }
}
