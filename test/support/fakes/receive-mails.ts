import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { waitUntil } from '../wait-until.ts';

export type ReceivedMail = {
  readonly from: string;
  readonly recipients: readonly string[];
  /** Headers and body as they came, with soft line breaks of quoted-printable joined. */
  readonly text: string;
};

export type MailServer = AsyncDisposable & {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** How many messages a client has tried to send. */
  readonly attempts: () => number;
  readonly waitFor: (isMeant: (mail: ReceivedMail) => boolean) => Promise<ReceivedMail>;
};

/**
 * A real SMTP server on loopback, with a password.
 *
 * @param answer the code that a message is refused with, by the number of the attempt from 1;
 *   nothing takes it
 *
 * @example
 * await using server = await receiveMails();
 * const { text } = await server.waitFor(({ recipients }) => recipients.includes('dev@example.com'));
 */
export async function receiveMails(
  answer: (attempt: number) => number | undefined = () => undefined,
): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  let attempts = 0;
  const server = new SMTPServer({
    authOptional: false,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth({ username, password }, _session, callback) {
      if (username === USER && password === PASSWORD) callback(null, { user: username });
      else callback(new Error('wrong user or password'));
    },
    onMailFrom(_address, _session, callback) {
      attempts++;
      const code = answer(attempts);
      callback(code === undefined ? null : Object.assign(new Error('refused'), { responseCode: code }));
    },
    onData(stream, { envelope }, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8').replace(/=\r\n/g, '').replace(/=3D/g, '=');
        const { mailFrom, rcptTo } = envelope;
        mails.push({
          from: mailFrom === false ? '' : mailFrom.address,
          recipients: rcptTo.map(({ address }) => address),
          text,
        });
        callback();
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://${USER}:${PASSWORD}@127.0.0.1:${port}?${PATIENT}`,
    mails,
    attempts: () => attempts,
    waitFor: (isMeant) => waitUntil('a message to arrive', () => mails.find(isMeant)),
    [Symbol.asyncDispose]: () => new Promise<void>((closed) => server.close(() => closed())),
  };
}

const USER = 'rolecall';
const PASSWORD = 'secret';
/** Options of nodemailer: on a busy machine an answer may take longer than the portal waits. */
const PATIENT = 'connectionTimeout=120000&greetingTimeout=120000&socketTimeout=120000';
