import { ERROR_CODE } from './error-code.js';
import { ReceivedHeaders } from './received-headers.js';

const MAX_FIELDS = 256;
const STATUS = /^[1-9]\d\d$/;

/** Of an answer. A field whose name or value is no HTTP is left out, as `node:http2` does. */
export class ReceivedResponse extends ReceivedHeaders {
  constructor() {
    super(MAX_FIELDS);
  }

  /** `:status` as a number; 0 in trailers, which have none. */
  get status(): number {
    return Number(this.headers[':status'] ?? 0);
  }

  protected override addPseudo(name: string, value: string): void {
    const isValid =
      name === ':status' &&
      STATUS.test(value) &&
      !this.hasPlainFields &&
      this.headers[':status'] === undefined;
    if (isValid) this.headers[':status'] = Number(value);
    else this.errorCode = ERROR_CODE.PROTOCOL_ERROR;
  }

  protected override addBroken(): void {}

  protected override allows(): boolean {
    return true;
  }
}
