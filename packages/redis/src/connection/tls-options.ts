/** As `node:tls` takes them: PEM as text or bytes. */
export interface TlsOptions {
  /** The authorities to trust. @default those that Node trusts */
  readonly ca?: string | Buffer | readonly (string | Buffer)[];
  /** This client's own certificate and key, where the server asks for one. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** @default true */
  readonly rejectUnauthorized?: boolean;
  /** The name that the server's certificate must carry. @default the host */
  readonly servername?: string;
}
