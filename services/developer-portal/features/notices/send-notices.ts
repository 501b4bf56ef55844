import { hash } from 'node:crypto';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { inStore } from '#shared/redis/connect.ts';
import { eachDocument } from '#shared/stores/documents/versioned-documents.ts';
import { unlessAborted } from '#shared/wait-for.ts';
import type { Mailer } from '../accounts/mailer.ts';
import type { Work } from '../work.ts';
import {
  composeNotice,
  MATTERS_OF_MAIL_MAX,
  type Matter,
  mattersOfApp,
  mattersOfWatch,
  type NamedMatter,
  type WebhookFacts,
} from './find-matters.ts';

/** All portals together look through all apps this often. */
const LOOK_MS = HOUR_MS;
/** Deliveries by which a receiver is judged. */
const NEWEST_MAX = 10;
/** The queue of the mailer that notices wait in: one at a time, beside those of visitors. */
const OWNER = 'notices';

type Dependencies = Pick<Work, 'redis' | 'clientApps' | 'watches' | 'accounts' | 'deliveries' | 'now'> & {
  readonly mail: { readonly mailer: Pick<Mailer, 'send'>; readonly origin: string };
  readonly stopping: AbortSignal;
};

/**
 * Tells owners by e-mail what only they can put right: see `find-matters.ts`. Of several portals
 * one looks, once an hour, through all apps and watches; an owner gets one message for all that is
 * new, and none of a matter that was told within the last day.
 *
 * A matter is marked before it is sent, and the mark is taken back if the message could not be
 * sent. So a process that dies in between leaves it untold for a day, and nobody is told twice.
 *
 * @throws ServiceError if Redis is away; `AbortSignal`'s reason when the process stops
 */
export function makeSendNotices({ redis, accounts, mail, now, stopping, ...deps }: Dependencies) {
  const claim = (key: string, ms: number): Promise<boolean> =>
    inStore(async () => (await redis.set(key, '1', 'PX', ms, 'NX')) === 'OK');

  const factsOf = async (clientId: string): Promise<WebhookFacts> => {
    const sinceMs = now() - DAY_MS;
    const [ids, failedCount] = await Promise.all([
      deps.deliveries.listIds(clientId, { sinceMs, countMax: NEWEST_MAX }),
      deps.deliveries.countFailedSince(clientId, sinceMs),
    ]);
    return { newest: await deps.deliveries.readMany(ids), failedCount };
  };
  const ofApp = async (app: ClientApp): Promise<Matter[]> =>
    app.deletedAt === undefined && !app.suspended
      ? mattersOfApp(app, await factsOf(app.clientId), now())
      : [];

  /** The news of each account, by its id. */
  const collect = async (): Promise<Map<string, News[]>> => {
    const byAccount = new Map<string, News[]>();
    const add = async (accountId: string, matters: readonly Matter[]): Promise<void> => {
      for (const { id, quietMs, text, path } of matters) {
        const mark = markOf(accountId, id);
        if ((await inStore(() => redis.exists(mark))) === 1) continue;
        const news = byAccount.get(accountId) ?? [];
        byAccount.set(accountId, news);
        const named = news.length < MATTERS_OF_MAIL_MAX ? { named: { text: text(), path } } : {};
        news.push({ mark, quietMs, ...named });
      }
    };
    for await (const app of eachDocument(deps.clientApps.scan)) await add(app.accountId, await ofApp(app));
    for await (const watch of eachDocument(deps.watches.scan))
      await add(watch.accountId, mattersOfWatch(watch));
    return byAccount;
  };

  const tell = async (accountId: string, found: readonly News[]): Promise<void> => {
    const account = await accounts.read(accountId);
    if (!account || account.deletedAt !== undefined || account.noNotices) return;
    const news: News[] = [];
    for (const one of found) if (await claim(one.mark, one.quietMs)) news.push(one);
    if (news.length === 0) return;
    const matters = news.flatMap(({ named }) => named ?? []);
    const message = composeNotice(account, { matters, more: news.length - matters.length }, mail.origin);
    const isSent = await unlessAborted(
      mail.mailer.send(OWNER, async () => message),
      stopping,
    );
    if (!isSent) await inStore(() => redis.del(...news.map(({ mark }) => mark)));
  };

  return async function sendNotices(): Promise<void> {
    if (!(await claim('notices:looked', LOOK_MS))) return;
    for (const [accountId, news] of await collect()) {
      stopping.throwIfAborted();
      await tell(accountId, news);
    }
  };
}

/** A matter that its owner was not told of. */
type News = {
  /** The key that says that the owner was told, and for how long it does. */
  readonly mark: string;
  readonly quietMs: number;
  /** Absent beyond the matters that a message names. */
  readonly named?: NamedMatter;
};

/** A digest: watches are named by customers. */
const markOf = (accountId: string, id: string): string =>
  `notices:told:${hash('sha256', `${accountId} ${id}`, 'base64url')}`;
