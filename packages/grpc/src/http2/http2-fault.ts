/** What a peer did that ends the connection; the code is what it is told in GOAWAY. Never leaves this folder. */
export class Http2Fault extends Error {
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super(message);
    this.name = 'Http2Fault';
    this.errorCode = errorCode;
  }
}
