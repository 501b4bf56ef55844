import { audit } from '#shared/contracts/apps/audit.ts';
import { type WatchMember, watchMember } from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import { aMember } from '../../../test/support/builders/a-watch.ts';
import { applyRecords } from './apply-records.ts';

const recordsOf = (values: readonly unknown[]) =>
  values.map((value, i) => ({
    value: value === null ? null : Buffer.from(JSON.stringify(value)),
    offset: `${i}`,
  }));

/** The members that are applied, and the offsets of the records that are passed over. */
async function applied(
  values: readonly unknown[],
  fails: (member: WatchMember) => Error | undefined = () => undefined,
) {
  const [members, skipped]: [WatchMember[], string[]] = [[], []];
  const log = { warn: ({ offset }: { offset: string }) => void skipped.push(offset) };
  const apply = async (member: WatchMember) => {
    const error = fails(member);
    if (error) throw error;
    members.push(member);
  };
  await applyRecords(watchMember, recordsOf(values), apply, log as never);
  return { members: members.map(({ memberId, version }) => `${memberId} ${version}`), skipped };
}

const version = (n: number, memberId = 'a', over: Partial<WatchMember> = {}) =>
  aMember({ memberId, version: n, ...over });

test('of the versions of one document that come together the newest alone is applied', async () => {
  const versions = Array.from({ length: 400 }, (_, i) => version(i + 1));
  expect((await applied([version(1, 'b'), ...versions, version(2, 'c')])).members).toEqual([
    'b 1',
    'a 400',
    'c 2',
  ]);
});

test('a version that stands behind a newer one is passed over', async () => {
  expect((await applied([version(7), version(6), version(1, 'b')])).members).toEqual(['a 7', 'b 1']);
});

test('documents are applied in the order that compaction leaves', async () => {
  expect((await applied([version(1), version(1, 'b'), version(2)])).members).toEqual(['b 1', 'a 2']);
});

test('a record that erases a document is no fault', async () => {
  expect(await applied([version(1), null])).toEqual({ members: ['a 1'], skipped: [] });
});

test('a record that cannot be read, or be applied, stops no other', async () => {
  const fails = ({ memberId }: WatchMember) => (memberId === 'b' ? new Error('out of range') : undefined);
  expect(await applied([version(1), { version: 2 }, version(1, 'b'), version(1, 'c')], fails)).toEqual({
    members: ['a 1', 'c 1'],
    skipped: ['1', '2'],
  });
});

test('a store that is away ends the reading', async () => {
  const fails = () => new ServiceError('store-unavailable', 'Redis is away');
  await expect(applied([version(1)], fails)).rejects.toMatchObject({ code: 'store-unavailable' });
});

test('every record of a topic that is no document is applied', async () => {
  const entry = {
    ...{ accountId: 'acc_1', clientId: 'app_1', actor: 'somebody', action: 'app-changed' },
    ...{ subject: 'app_1', kind: 'write', at: new Date(0).toISOString() },
  };
  let count = 0;
  await applyRecords(audit, recordsOf([entry, entry]), async () => count++, { warn: () => undefined });
  expect(count).toBe(2);
});
