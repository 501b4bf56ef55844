import { setTimeout as delay } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import type { Owner } from '#shared/fairness/fair-shares.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { PortalMetrics } from '../../metrics.ts';

/** Messages being sent at once, and messages that wait for their turn, of all senders. */
const AT_ONCE_MAX = 4;
const WAITING_MAX = 100;
/** Waits before the second and the third attempt. */
const RETRY_DELAYS_MS = [1_000, 10_000] as const;
const TIMEOUTS = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 } as const;
/** A stopping process begins no attempt after this time, and waits for those that have begun. */
const STOP_MS_MAX = 5_000;

export type MailSettings = {
  /** `smtps://user:password@host:465`; query parameters are options of nodemailer. */
  readonly url: string;
  /** The sender: `rolecall@example.com`. */
  readonly from: string;
  /** The portal's address in the browser, for links. */
  readonly origin: string;
};

export type Message = { readonly to: string; readonly subject: string; readonly text: string };

export type Mailer = ReturnType<typeof makeMailer>;

type Dependencies = {
  readonly metrics: Pick<PortalMetrics, 'mails'>;
  readonly log: Pick<Logger, 'warn'>;
  readonly retryDelaysMs?: readonly number[];
  readonly stopMsMax?: number;
};

/**
 * Sends e-mail through an SMTP server. Nothing is stored: a message is lost with its process, and
 * people ask again.
 */
export function makeMailer(
  { url, from }: Pick<MailSettings, 'url' | 'from'>,
  { metrics, log, retryDelaysMs = RETRY_DELAYS_MS, stopMsMax = STOP_MS_MAX }: Dependencies,
) {
  const transport = createTransport({ url, ...TIMEOUTS, disableFileAccess: true, disableUrlAccess: true });
  const queue = new FairTaskQueue({
    atOnceMax: AT_ONCE_MAX,
    waitingMax: WAITING_MAX,
    refusal: 'too much e-mail',
  });
  const stopping = new AbortController();
  const running = new Set<Promise<boolean>>();

  const attempt = async ({ to, ...message }: Message): Promise<void> => {
    stopping.signal.throwIfAborted();
    // As an object the address is not parsed, so that it cannot name several recipients.
    const headers = { 'auto-submitted': 'auto-generated' };
    await transport.sendMail({ from, to: { name: '', address: to }, headers, ...message });
  };
  const deliver = async (message: Message): Promise<void> => {
    for (const retryMs of retryDelaysMs)
      try {
        return await attempt(message);
      } catch (error) {
        if (isFinal(error)) throw error;
        await delay(retryMs, undefined, { signal: stopping.signal });
      }
    await attempt(message);
  };

  return {
    /**
     * Makes and sends a message in the background, in three attempts. A message that could not be
     * made or sent is counted and logged without its recipient.
     *
     * @param owner the queue it waits in: the visitor's
     * @param make returns undefined if there is nothing to send
     * @returns whether it was sent; it never throws
     */
    send(owner: Owner, make: () => Promise<Message | undefined>): Promise<boolean> {
      const work: Promise<boolean> = queue
        .run(owner, async () => {
          const message = await make();
          if (!message) return false;
          await deliver(message);
          metrics.mails.inc({ outcome: 'sent' });
          return true;
        })
        .catch((error: unknown) => {
          metrics.mails.inc({ outcome: 'failed' });
          // The server's own words may have the recipient's address.
          log.warn({ code: codeOf(error) }, 'e-mail not sent');
          return false;
        })
        .finally(() => running.delete(work));
      running.add(work);
      return work;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const timer = setTimeout(() => stopping.abort(), stopMsMax);
      await Promise.all(running);
      clearTimeout(timer);
      transport.close();
    },
  };
}

/** An answer from 500 on is the same on every attempt (RFC 5321, 4.2.1). */
const isFinal = (error: unknown): boolean =>
  error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
