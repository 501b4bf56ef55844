/**
 * Every key of Redis that the source names, and what a replay makes of it:
 *
 *   `replayed`  the same value; of a hash or a line without what `except` names
 *   a reason    why it is not made again
 */
type Fate = 'replayed' | { readonly except: RegExp; readonly because: string } | { readonly lost: string };

const MINUTES = 'it is over in minutes';
const DOCUMENT: Fate = 'replayed';
const BY_OWNER = 'its owner makes it again at the next look at the watch';
const TELL_AGAIN = 'the next answer that reads the chain, or cannot, tells it again';

export const REDIS_KEYS: Readonly<Record<string, Fate>> = {
  // Documents.
  accounts: DOCUMENT,
  'accounts:index': DOCUMENT,
  'accounts:entries': DOCUMENT,
  'accounts:summaries': DOCUMENT,
  'accounts:ended': DOCUMENT,
  'client-apps': DOCUMENT,
  'client-apps:index': DOCUMENT,
  'client-apps:entries': DOCUMENT,
  'client-apps:summaries': DOCUMENT,
  'client-apps:ended': DOCUMENT,
  'places:apps:*': DOCUMENT,
  'approved-apps:*': DOCUMENT,
  'member-apps:*': DOCUMENT,
  'places:marketplace-keys:*': DOCUMENT,
  'rule-sets:1': DOCUMENT,
  'rule-sets:1:entries': DOCUMENT,
  'rule-sets:1:ended': DOCUMENT,
  'rule-sets:of:*': DOCUMENT,
  'places:rule-sets:*': DOCUMENT,
  'rule-set-users:*/*': DOCUMENT,
  watches: DOCUMENT,
  'watches:entries': DOCUMENT,
  'watches:ended': DOCUMENT,
  'watches:of:*': DOCUMENT,
  'watches:due:*': DOCUMENT,
  'places:watches:*': DOCUMENT,
  'lease:*:*:*': { lost: MINUTES },
  'leased:*:*': { lost: 'a message is on its way for minutes; a later version has a later time' },
  'rule-set-deletion:*/*': { lost: MINUTES },
  'audit:kept:*': 'replayed',
  'audit:writes:*': 'replayed',
  // Members of watches.
  'wm:*:*': {
    except: /"event":"(?:[^"\\]|\\.)*"/,
    because: 'an event younger than a day is published again',
  },
  'wm-ids:*': 'replayed',
  'wm-figures:*': 'replayed',
  'wm-removed': 'replayed',
  wallets: 'replayed',
  'wm-due:*': { lost: 'what is owed, or was never checked, is due at once' },
  'wm-outbox:*': { lost: 'it has those whose event is younger than a day' },
  'wm-revoked:*/*': { lost: 'a role that is denied since less than an hour counts as revoked' },
  'lock:wm:*': { lost: MINUTES },
  'wm-sweeps': { lost: 'a watch without a time for its next sweep is swept' },
  'wm-next': { lost: 'a watch without a time for its next sweep is swept' },
  'wm-gap': { lost: 'an empty Redis is a gap' },
  'wm-sweep:*': { lost: 'a sweep that did not end begins again' },
  'wm-sweep-open:*': { lost: 'a sweep that did not end begins again' },
  'watch-parts:*': { lost: 'parts without an answer are asked for again' },
  'wm-refunded:*': { lost: 'an answer is handled again within minutes' },
  'wm-chain-read:*': { lost: TELL_AGAIN },
  'wm-chain-unread:*:*': { lost: TELL_AGAIN },
  'followed:*': { lost: BY_OWNER },
  'following:*': { lost: BY_OWNER },
  'followed-since:*': { lost: BY_OWNER },
  'followed-silent:*': { lost: BY_OWNER },
  'logs:position:*:*': { lost: 'a position that is missing is a gap' },
  'logs:lease:*': { lost: MINUTES },
  'logs:forks:*': { lost: 'every member is read at the newest head' },
  'chain-reports': { lost: 'the evaluators report the endpoints every hour' },
  'chain-state:*': { lost: 'the evaluators report it every few seconds' },
  // Admission.
  'quota:{*}:*': 'replayed',
  'quota:{*}:*:watches': 'replayed',
  'usage-day:{*}:*': 'replayed',
  'usage-hour:{*}:*': 'replayed',
  'account-bytes:*:*': 'replayed',
  'usage:apps:*': { lost: 'it has those with charges since their last total' },
  'usage:publish-lock': { lost: MINUTES },
  'claim:{*}:*': { except: /^(seed|touched)$/, because: 'the id of the check takes the place of its seed' },
  'rate:{*}:*': { lost: 'the window is a second' },
  'nonce:{*}:*': { lost: 'nonces from before the opening are void' },
  'key-use:{*}': { lost: 'the last use of a key is in no topic' },
  'throttle:*:*': { lost: 'attempts of the last minutes are in no topic' },
  'throttle-drawn:*': { lost: MINUTES },
  // Results.
  'result:*': 'replayed',
  'saved:*': { lost: 'results of checks that the totals may have are not counted again' },
  'wanted:*': { lost: MINUTES },
  'check-log:{*}': { except: / \d*$/, because: 'when a result was stored is in no topic' },
  'batch:*': { except: /^(charged|month)$/, because: 'without them an abandoned batch is not refunded' },
  'batch:*:lines': 'replayed',
  'batch:*:index': 'replayed',
  'batch-list:{*}': 'replayed',
  'places:batches:{*}': 'replayed',
  'batches:publishing': { except: /^\d{13}$/, because: 'the last attempt is that of the replay' },
  'batches:held': 'replayed',
  'batches:held-until': 'replayed',
  // Webhooks.
  'webhook:*': { except: /^deferrals$/, because: 'a claim is in no topic: an attempt may be made twice' },
  'webhooks:*': 'replayed',
  'webhooks-failed:*': 'replayed',
  'webhooks-undelivered': 'replayed',
  // The portal.
  'sessions:*': { lost: 'sessions are in no topic: sign in again' },
  'reset-link:*': { lost: 'ask for another link' },
  'two-factor-step:*': { lost: MINUTES },
  'two-factor-setup:*': { lost: MINUTES },
  'once:*': { lost: MINUTES },
  'notices:looked': { lost: 'portals look through the apps once more' },
  'notices:told:*': { lost: 'an owner is told of a matter once more' },
  // The state of the views, and which system they belong to.
  'view:generation:1': { lost: 'the opening writes it' },
  'view:run': { lost: 'the opening writes it' },
  'view:rebuild-lock': { lost: 'the replay holds it' },
  'view:seen-at': { lost: 'the opening writes it' },
  'view:opened-at': { lost: 'the opening writes it' },
  'view:positions': { lost: 'the end of the replay writes it' },
  'nonces-not-before': { lost: 'the opening writes it' },
  'system:kafka': { lost: 'every process writes it every two seconds' },
  'system:running': { lost: 'every process writes it every two seconds' },
};

/** The pattern of a key, the longest that fits. */
export function patternOf(key: string): string | undefined {
  return Object.keys(REDIS_KEYS)
    .filter((pattern) => regexOf(pattern).test(key))
    .sort((a, b) => b.replaceAll('*', '').length - a.replaceAll('*', '').length)[0];
}

const regexOf = (pattern: string): RegExp =>
  new RegExp(`^${pattern.replace(/[{}]/g, '\\$&').replaceAll('*', '.+')}$`);
