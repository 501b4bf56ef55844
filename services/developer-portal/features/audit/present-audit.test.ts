import type { Audit } from '#shared/contracts/apps/audit.ts';
import type { Account } from '#shared/contracts/apps/client-app.ts';
import { presentAudit } from './present-audit.ts';

const ADA = 'acc_0000000000000000000000aa';
const BEN = 'acc_0000000000000000000000bb';
const OPERATOR = 'acc_0000000000000000000000cc';
const GONE = 'acc_0000000000000000000000dd';
const at = '2026-11-21T10:00:00.000Z';
const known = new Map(
  Object.entries({
    [ADA]: { email: 'ada@example.com' },
    [BEN]: { email: 'ben@example.com' },
    [OPERATOR]: { email: 'ops@example.com' },
    [GONE]: { email: '', deletedAt: at },
  }).map(([accountId, fields]) => [accountId, { accountId, ...fields } as Account]),
);
const anEntry = (actor: string, action: string, subject: string): Audit => ({
  accountId: ADA,
  actor,
  action,
  subject,
  kind: 'security',
  at,
});

test('a developer sees the team by address, keys by id, and no operator by name', async () => {
  const read: string[] = [];
  const accounts = {
    read: async (accountId: string) => {
      read.push(accountId);
      return known.get(accountId);
    },
  };
  const shown = await presentAudit(
    accounts,
    [
      anEntry(ADA, 'password-changed', ADA),
      anEntry(BEN, 'member-role-set', `${GONE} (viewer)`),
      anEntry(GONE, 'member-left', GONE),
      anEntry('key_1', 'rule-set-written', 'vip'),
      anEntry('portal', 'reset-link-made', ADA),
      anEntry(OPERATOR, 'account-read', ADA),
      anEntry('alice@laptop', 'tier-paid', ADA),
      anEntry('alice', 'tier-free', ADA),
    ],
    known.get(ADA) as Account,
    new Set([ADA, BEN, GONE]),
  );
  expect(shown.map(({ actor, action, subject }) => [actor, action, subject])).toEqual([
    ['ada@example.com', 'password-changed', ADA],
    ['ben@example.com', 'member-role-set', `${GONE} (viewer)`],
    [GONE, 'member-left', GONE],
    ['key_1', 'rule-set-written', 'vip'],
    ['portal', 'reset-link-made', ADA],
    ['operator', 'account-read', ADA],
    ['operator', 'tier-paid', ADA],
    ['operator', 'tier-free', ADA],
  ]);
  expect(read.toSorted()).toEqual([ADA, BEN, GONE]);
});
