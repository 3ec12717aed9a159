/** What a protocol answers a request with. */
export interface HttpAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}
