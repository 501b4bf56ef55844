import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { isUsable } from '../../domain/change-app.ts';
import type { Message } from '../accounts/mailer.ts';

/** Something about an app that only its owner can put right. */
export type Matter = {
  /** The same as long as it is the same matter. */
  readonly id: string;
  /** Its owner is not told of it again for so long. */
  readonly quietMs: number;
  /** One sentence, or more. Composed for those that are sent: an account may have thousands. */
  readonly text: () => string;
  readonly path: string;
};

/** A key is told of a week before it expires, and on its last day. */
const KEY_WARNING_MS = 7 * DAY_MS;
/** A receiver that has accepted nothing for so long counts as dead. */
const RECEIVER_DEAD_MS = HOUR_MS;
export const MATTERS_OF_MAIL_MAX = 20;
/** Roles, or chains, that a matter names. */
const NAMED_MAX = 10;

export type WebhookFacts = {
  /** The newest deliveries of the last day. */
  readonly newest: readonly DeliveryView[];
  /** Webhooks that were given up in the last day. */
  readonly failedCount: number;
};

/**
 * The matters of an app's webhooks, keys and scope.
 *
 * Of an app whose scope is not approved only the decision is told: anybody can sign up with an address
 * of others, and the names of apps and keys are theirs to choose.
 */
export function mattersOfApp(app: ClientApp, { newest, failedCount }: WebhookFacts, nowMs: number): Matter[] {
  const { clientId, name, keys, scope, scopeReason, scopeRequestedAt, scopeDecidedAt } = app;
  const path = `/apps/${clientId}`;
  const matters: Matter[] = [];
  const isApproved = scope === 'approved';
  const isDead = isReceiverDead(newest, nowMs);
  if (isApproved && (isDead || failedCount > 0))
    matters.push({
      id: `webhooks/${clientId}`,
      quietMs: DAY_MS,
      text: () =>
        [
          ...(isDead ? [`The webhooks of "${name}" have not been accepted for more than an hour.`] : []),
          ...(failedCount > 0
            ? [`Webhooks of "${name}" that were given up in the last day: ${failedCount}.`]
            : []),
          'Their results are kept; correct the receiver and send them again.',
        ].join(' '),
      path: `${path}/webhooks`,
    });
  for (const key of isApproved ? keys : []) {
    if (key.expiresAt === undefined || key.replacedBy !== undefined || !isUsable(key, nowMs)) continue;
    const leftMs = Date.parse(key.expiresAt) - nowMs;
    if (leftMs > KEY_WARNING_MS) continue;
    matters.push({
      id: `key/${key.keyId}/${leftMs > DAY_MS ? 'week' : 'day'}`,
      quietMs: KEY_WARNING_MS,
      text: () =>
        `The key "${key.name}" (ending in ${key.lastFour}) of "${name}" expires at ${key.expiresAt}. Make another one in time.`,
      path: `${path}/keys`,
    });
  }
  if (scopeRequestedAt && scopeDecidedAt && nowMs - Date.parse(scopeDecidedAt) < DAY_MS)
    matters.push({
      id: `scope/${clientId}/${scopeDecidedAt}`,
      quietMs: DAY_MS,
      text: () =>
        isApproved
          ? `The scope of "${name}" was approved: its keys may start checks.`
          : `The scope of "${name}" was not approved: ${scopeReason}`,
      path: `${path}/scope`,
    });
  return matters;
}

/** The newest webhooks were all attempted in vain, and the oldest of them has waited for long. */
function isReceiverDead(newest: readonly DeliveryView[], nowMs: number): boolean {
  const attempted = newest.filter(({ attempts }) => attempts.length > 0);
  const firstAt = Math.min(...attempted.map(({ acceptedAt }) => Date.parse(acceptedAt ?? '')));
  return attempted.every(({ state }) => state !== 'delivered') && nowMs - firstAt > RECEIVER_DEAD_MS;
}

/** The matters of a watch whose revocations are held, or whose chains cannot be read. */
export function mattersOfWatch(watch: Watch): Matter[] {
  const { clientId, watchId, held, stalled = [] } = watch;
  if (watch.deletedAt !== undefined || watch.paused) return [];
  const of = (kind: string, text: () => string): Matter => ({
    id: `${kind}/${watchUid(watch)}`,
    quietMs: DAY_MS,
    text,
    path: `/apps/${clientId}/watches/${encodeURIComponent(watchId)}`,
  });
  const heldText = () => {
    const revocations = held.reduce((sum, role) => sum + role.revocations, 0);
    const roles = named(held, ({ id }) => `"${id}"`);
    return `The watch "${watchId}" holds back ${revocations} revocations of ${roles}, because they are unusually many. Look whether they are right, and release them.`;
  };
  const stalledText = () => {
    const chains = named(stalled, ({ chainId, since }) => `${chainId} (since ${since})`);
    return `The watch "${watchId}" cannot see changes, because a chain cannot be read: ${chains}.`;
  };
  return [
    ...(held.length > 0 ? [of('held', heldText)] : []),
    ...(stalled.length > 0 ? [of('stalled', stalledText)] : []),
  ];
}

/** The first of a list, and how many there are more. */
function named<T>(items: readonly T[], nameOf: (item: T) => string): string {
  const names = items.slice(0, NAMED_MAX).map(nameOf).join(', ');
  return items.length > NAMED_MAX ? `${names} and ${items.length - NAMED_MAX} more` : names;
}

export type NamedMatter = Pick<Matter, 'path'> & { readonly text: string };

/**
 * The e-mail that tells an account of its matters.
 *
 * @param more how many there are beside those that it names
 */
export const composeNotice = (
  { email }: Pick<Account, 'email'>,
  { matters, more }: { readonly matters: readonly NamedMatter[]; readonly more: number },
  origin: string,
): Message => ({
  to: email,
  subject:
    matters.length + more === 1 ? 'Rolecall: one of your apps needs you' : 'Rolecall: your apps need you',
  text: [
    ...matters.map(({ text, path }) => `${text}\n${origin}${path}`),
    ...(more > 0 ? [`And ${more} more.`] : []),
    `Rolecall sends this to the owner of the account ${email}, once a day at most for each matter.\nTurn it off: ${origin}/account`,
  ]
    .join('\n\n')
    .concat('\n'),
});
