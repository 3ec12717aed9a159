/**
 * An authority, and certificates for a server and a client by it, made anew: no keys in the repository that
 * expire one day, no program that a machine may not have. Only as much of X.509 as TLS on 127.0.0.1 needs.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface Certificates {
  /** PEM of the authority that both are signed by. */
  readonly ca: string;
  readonly server: Certificate;
  readonly client: Certificate;
}

export function makeCertificates(): Certificates {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = 'batchwise test authority';
  const issue = (subject: string): Certificate => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return {
      cert: certificate(issuer, authority.privateKey, subject, pair.publicKey, [localhostOnly]),
      key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    };
  };
  return {
    ca: certificate(issuer, authority.privateKey, issuer, authority.publicKey, [mayIssue]),
    server: issue('batchwise test server'),
    client: issue('batchwise test client'),
  };
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const set = (...parts: readonly Buffer[]) => der(0x31, ...parts);
const utf8 = (text: string) => der(0x0c, Buffer.from(text));
const generalizedTime = (text: string) => der(0x18, Buffer.from(text));
const octets = (content: Buffer) => der(0x04, content);
const bits = (content: Buffer) => der(0x03, Buffer.of(0), content);
const integer = (content: Buffer) => der(0x02, content);
const objectId = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const yes = der(0x01, Buffer.of(0xff));

const commonName = objectId('550403');
const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
const basicConstraints = objectId('551d13');
const subjectAltName = objectId('551d11');

const mayIssue = sequence(basicConstraints, yes, octets(sequence(yes)));
const localhostOnly = sequence(
  subjectAltName,
  octets(sequence(der(0x82, Buffer.from('localhost')), der(0x87, Buffer.of(127, 0, 0, 1)))),
);

function certificate(
  issuer: string,
  issuerKey: KeyObject,
  subject: string,
  subjectKey: KeyObject,
  extensions: readonly Buffer[],
): string {
  const thirdVersion = der(0xa0, integer(Buffer.of(2)));
  // Positive and without superfluous zeros, whatever the random bytes are.
  const serial = integer(Buffer.concat([Buffer.of(1), randomBytes(8)]));
  const content = sequence(
    thirdVersion,
    serial,
    ecdsaWithSha256,
    name(issuer),
    sequence(generalizedTime('20000101000000Z'), generalizedTime('29990101000000Z')),
    name(subject),
    subjectKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signed = sequence(content, ecdsaWithSha256, bits(sign('sha256', content, issuerKey)));
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function name(text: string): Buffer {
  return sequence(set(sequence(commonName, utf8(text))));
}

/** One value in the encoding of X.509: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const header =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), content]);
}
