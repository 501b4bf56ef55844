import fc from 'fast-check';
import { type MemberRole, WatchMember } from '#shared/contracts/watches/watch.ts';
import { aMember, atSecond } from '../../../../test/support/builders/a-watch.ts';
import { parseStored, textOf } from './watch-member-text.ts';

const read = (member: WatchMember, text: string) => parseStored(member.watchUid, member.memberId, text);

const instant = fc.integer({ min: Date.parse(atSecond(0)), max: Date.parse(atSecond(1e8)) });
const at = instant.map((ms) => new Date(ms).toISOString());
const address = fc
  .array(fc.constantFrom(...'0123456789abcdefABCDEF'), { minLength: 40, maxLength: 40 })
  .map((digits) => `0x${digits.join('')}`);
const blocks = fc.dictionary(
  fc.integer({ min: 1, max: 2 ** 31 }).map(String),
  fc.record({ block: fc.nat(), askedAt: instant }),
  { maxKeys: 3 },
);
const role: fc.Arbitrary<MemberRole> = fc.oneof(
  fc.record({ id: fc.string(), granted: fc.boolean(), since: at }),
  fc.record({
    ...{ id: fc.string(), granted: fc.constant(true), since: at },
    heldBack: fc.record(
      {
        since: at,
        why: fc.constantFrom({ cause: 'schedule' as const }, { cause: 'transfer' as const }),
        graceUntil: at,
        looked: fc.constant(true),
        sweep: instant,
        details: fc.json(),
      },
      { requiredKeys: ['since', 'why'] },
    ),
  }),
);
const error = fc.record({
  ...{ ruleIndex: fc.nat(99), roleId: fc.string(), chainId: fc.integer({ min: 1, max: 1e6 }) },
  ...{ code: fc.constant('rpc-timeout' as const), message: fc.string(), retryable: fc.boolean() },
});
const wallets = fc.record(
  {
    account: address,
    accounts: fc.array(address, { minLength: 1, maxLength: 3 }),
    vaults: fc.array(address, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['account'] },
);
const why = fc.constant({ cause: 'transfer' as const });
const rare = fc.record(
  {
    removedAt: at,
    checked: fc.record({ at, rules: fc.string(), seen: blocks, errors: fc.array(error, { maxLength: 2 }) }),
    owed: fc.record({ since: at, blocks: fc.constant({ '1': 7 }), why }),
    event: fc.json(),
  },
  { requiredKeys: [] },
);

const member = fc
  .record({ wallets, ref: fc.option(fc.stringMatching(/^[!-~]{1,20}$/)), rare, addedAt: at })
  .chain(({ wallets, ref, rare, addedAt }) =>
    fc.record({ roles: fc.array(role), walletsAt: at }).map((rest) =>
      aMember({
        ...{ wallets, memberId: ref ?? wallets.account.toLowerCase(), addedAt, version: 1_795_000_000_000 },
        ...rest,
        ...rare,
      }),
    ),
  );

test('a member is read from the view as it was written', () => {
  fc.assert(
    fc.property(member, (one) => {
      expect(read(one, textOf(one))).toEqual(one);
      expect(WatchMember.parse(read(one, textOf(one)))).toEqual(one);
    }),
  );
});

test('a member of three roles, with its ref, takes at most 200 bytes', () => {
  const roles = ['gold', 'silver', 'bronze'].map((id) => ({ id, granted: false, since: atSecond(2) }));
  const one = aMember({
    ...{ wallets: { account: `0x${'Ab'.repeat(20)}` }, memberId: 'member-12345', sequence: 3, roles },
    version: 1_795_000_000_000,
    checked: {
      ...{ at: atSecond(100), rules: 'three#Qm9nRGlnZXN0MTIz latest', errors: [] },
      seen: { '31337': { block: 20_000_000, askedAt: Date.parse(atSecond(100)) } },
    },
  });
  expect(Buffer.byteLength(textOf(one))).toBeLessThanOrEqual(200);
});
