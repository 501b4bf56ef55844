import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Certificates = {
  /** PEM files: the authority's certificate, and the certificates that it issued to the server and
   * to a client. */
  readonly ca: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
  /** Key and certificate of the server in one file, as Kafka expects them. */
  readonly serverPair: string;
  /** An authority that neither side trusts. */
  readonly strangerCa: string;
};

/** Creates an authority in `dir`, and certificates by it for 127.0.0.1 and for one client, with
 * openssl. */
export function makeCertificates(dir: string): Certificates {
  const file = (name: string) => join(dir, name);
  const request = (name: string, ...args: string[]) => {
    const own = [
      '-subj',
      `/CN=${name}`,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.pem`),
      '-days',
      '2',
    ];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];
    const { status, stderr } = spawnSync('openssl', ['req', '-x509', ...key, ...own, ...args], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`openssl failed: ${stderr}`);
  };
  const byAuthority = ['-CA', file('authority.pem'), '-CAkey', file('authority.key')];
  request('authority');
  request('stranger');
  request('server', ...byAuthority, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  request('client', ...byAuthority, '-addext', 'extendedKeyUsage=clientAuth');
  const [serverCert, serverKey, serverPair] = [
    file('server.pem'),
    file('server.key'),
    file('server-pair.pem'),
  ];
  writeFileSync(serverPair, readFileSync(serverKey, 'utf8') + readFileSync(serverCert, 'utf8'));
  return {
    ca: file('authority.pem'),
    serverCert,
    serverKey,
    serverPair,
    clientCert: file('client.pem'),
    clientKey: file('client.key'),
    strangerCa: file('stranger.pem'),
  };
}
