import { ServiceError } from '#shared/errors.ts';
import type { Draw } from '#shared/fairness/throttle.ts';
import type { RecordAudit } from '#shared/stores/audit/audit-trail.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { partially } from '../../../../test/support/builders/partially.ts';
import type { Work } from '../work.ts';
import { makeAuditAccess } from './audit-access.ts';

type Entry = Parameters<RecordAudit>[0];

/** The throttle of Redis, whose windows never end. */
function start(record: (entry: Entry) => Promise<void>) {
  const counts = new Map<string, number>();
  return makeAuditAccess({
    writes: partially<Work['writes']>({ record }),
    throttle: partially<Work['throttle']>({
      async take(draws: readonly Draw[]) {
        for (const { budget, owner } of draws) {
          const key = `${budget.name} ${owner}`;
          const count = (counts.get(key) ?? 0) + 1;
          if (count > budget.countMax) throw new ServiceError('rate-limited', 'too many');
          counts.set(key, count);
        }
      },
    }),
    log: makeSilentLogger(),
  });
}

test('a thousand failed sign-ins of a day are 21 entries, and hide no sign-in', async () => {
  const entries: Entry[] = [];
  const access = start(async (entry) => void entries.push(entry));
  for (let i = 0; i < 1_000; i++) await access.signIn('sign-in-failed', 'acc_1', `curl, 192.0.2.${i}`);
  await access.signIn('signed-in', 'acc_1', 'Firefox, 192.0.2.1');
  await access.signIn('sign-in-failed', 'acc_2', 'curl, 192.0.2.1');
  expect(entries.map(({ action }) => action)).toEqual([
    ...Array(21).fill('sign-in-failed'),
    'signed-in',
    'sign-in-failed',
  ]);
  expect(entries[19]?.from).toBe('curl, 192.0.2.19');
  expect(entries[20]?.from).toBe('further ones of this day are not listed');
});

test('an access goes on where its entry cannot be written', async () => {
  const access = start(async () => {
    throw new ServiceError('broker-unavailable', 'away');
  });
  await expect(access.signIn('signed-in', 'acc_1', 'curl')).resolves.toBeUndefined();
  await expect(access.read('acc_1', 'accounts-listed', 'all accounts')).resolves.toBeUndefined();
});

test('an operator’s read is recorded for the account and the app that were read', async () => {
  const entries: Entry[] = [];
  const access = start(async (entry) => void entries.push(entry));
  await access.read('acc_op', 'app-read', 'app_1', { accountId: 'acc_1', clientId: 'app_1' });
  await access.read('acc_op', 'accounts-listed', 'all accounts');
  expect(entries).toEqual([
    {
      accountId: 'acc_1',
      clientId: 'app_1',
      actor: 'acc_op',
      action: 'app-read',
      subject: 'app_1',
      kind: 'read',
    },
    {
      accountId: 'operators',
      actor: 'acc_op',
      action: 'accounts-listed',
      subject: 'all accounts',
      kind: 'read',
    },
  ]);
});
