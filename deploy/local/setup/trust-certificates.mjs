import { createHash, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';

const SYSTEM_FILE = '/etc/ssl/certs/ca-certificates.crt';
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The authorities that `NODE_EXTRA_CA_CERTS` names are for Node alone. For apt and Java they are
 * written beside all others, as one PEM file and as a Java key store, because these trust one file
 * and nothing else.
 *
 * @returns the two files, or undefined if the variable is not set
 */
export function writeCertificates(cache, env = process.env) {
  const file = env.NODE_EXTRA_CA_CERTS;
  if (!file) return undefined;
  if (!existsSync(file)) throw new Error(`NODE_EXTRA_CA_CERTS names ${file}, which does not exist`);
  const own = readFileSync(file, 'utf8').match(CERTIFICATE) ?? [];
  const system = existsSync(SYSTEM_FILE) ? (readFileSync(SYSTEM_FILE, 'utf8').match(CERTIFICATE) ?? []) : [];
  const bytes = new Map();
  for (const pem of [...own, ...system, ...rootCertificates]) {
    const { raw } = new X509Certificate(pem);
    bytes.set(createHash('sha256').update(raw).digest('hex'), { pem, raw });
  }
  const all = [...bytes.values()];
  mkdirSync(cache, { recursive: true });
  const paths = { pem: join(cache, 'certificates.pem'), jks: join(cache, 'certificates.jks') };
  writeFileSync(paths.pem, `${all.map(({ pem }) => pem).join('\n')}\n`);
  writeFileSync(paths.jks, formatKeyStore(all.map(({ raw }) => raw)));
  return paths;
}

const MAGIC = 0xfeedfeed;
const VERSION = 2;
const TRUSTED_CERTIFICATE = 2;
/** Nothing in it is secret: the checksum is made with the password that Java's own store has. */
const PASSWORD = 'changeit';
/** Part of the format:
 * https://github.com/openjdk/jdk/blob/jdk-17+35/src/java.base/share/classes/sun/security/provider/JavaKeyStore.java */
const WHITENER = 'Mighty Aphrodite';

/** A Java key store (JKS) of certificates: `keytool` would need a Java process for each of them. */
function formatKeyStore(certificates) {
  const entries = certificates.flatMap((raw, index) => [
    uint32(TRUSTED_CERTIFICATE),
    utf(String(index)),
    // When it was made, in ms: one date for all, so that the same certificates give the same file.
    Buffer.alloc(8),
    utf('X.509'),
    uint32(raw.length),
    raw,
  ]);
  const body = Buffer.concat([uint32(MAGIC), uint32(VERSION), uint32(certificates.length), ...entries]);
  const password = Buffer.from(PASSWORD, 'utf16le').swap16();
  return Buffer.concat([body, createHash('sha1').update(password).update(WHITENER).update(body).digest()]);
}

function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Two bytes of length, then the text. */
function utf(text) {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
