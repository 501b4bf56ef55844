import { readFileSync } from 'node:fs';
import { ServiceError } from './errors.ts';

/** The certificates and the key of a TLS client, as PEM texts. The key is a secret: never logged. */
export type TlsSettings = {
  /** Authorities to trust instead of the system's. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
};

type TlsFiles = { readonly [part in keyof TlsSettings]?: string | undefined };

/**
 * Reads the files of a TLS client; without any the system's authorities are trusted and no certificate is shown.
 *
 * @param prefix the beginning of the variables that name the files, for messages
 * @throws ServiceError `config-invalid` if a file cannot be read, or a certificate has no key
 *
 * @example
 * readTls('KAFKA_TLS', { ca: '/etc/tls/ca.pem' }); // { ca: '-----BEGIN CERTIFICATE…' }
 */
export function readTls(prefix: string, files: TlsFiles): TlsSettings {
  if ((files.cert === undefined) !== (files.key === undefined))
    throw new ServiceError(
      'config-invalid',
      `${prefix}_CERT_FILE and ${prefix}_KEY_FILE must be set together`,
    );
  const read = (part: keyof TlsSettings): TlsSettings => {
    const file = files[part];
    return file === undefined ? {} : { [part]: readPem(`${prefix}_${part.toUpperCase()}_FILE`, file) };
  };
  return { ...read('ca'), ...read('cert'), ...read('key') };
}

function readPem(variable: string, file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new ServiceError('config-invalid', `${variable}: cannot be read (${code})`);
  }
  if (!text.includes('-----BEGIN ')) throw new ServiceError('config-invalid', `${variable}: is not PEM`);
  return text;
}
