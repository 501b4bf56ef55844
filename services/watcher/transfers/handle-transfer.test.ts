import type { ChainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { type Watch, watchUid } from '#shared/contracts/watches/watch.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Draw } from '#shared/fairness/throttle.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { aRuleSet } from '../../../test/support/builders/a-rule-set.ts';
import { aMember, atSecond, aWatch } from '../../../test/support/builders/a-watch.ts';
import { partially } from '../../../test/support/builders/partially.ts';
import type { Dependencies } from '../dependencies.ts';
import type { ChecksToRequest } from '../stores.ts';
import { MEMBERS_OF_WALLET_MAX, makeHandleTransfer } from './handle-transfer.ts';

const {
  wallets: { account },
  memberId,
} = aMember();
const CONTRACT = `0x${'cc'.repeat(20)}`;
const RULES = [{ type: 'ERC20', chainId: 1, contractAddress: CONTRACT, roleId: 'gold', minToken: '1' }];
const manyIds = Array.from({ length: MEMBERS_OF_WALLET_MAX + 1 }, (_, index) => `member-${index}`);
const TRANSFER: ChainTransferred = {
  ...{ chainId: 1, contractAddress: CONTRACT, account, blockTag: 'latest' },
  ...{ blockNumber: 9, dropped: false, transactionHash: '0x1', logIndex: 3, at: atSecond(1) },
};

const EVENT = {
  ...{ chainId: 1, contractAddress: CONTRACT, blockNumber: 9 },
  ...{ transactionHash: '0x1', logIndex: 3 },
};

type Members = {
  readonly memberIds?: readonly string[];
  readonly isBudgetUsed?: boolean;
  readonly failure?: Error;
  /** Whether Redis has lost which contracts are followed. */
  readonly isLost?: boolean;
  /** Whether too many parts of the client app wait for their results. */
  readonly isFull?: boolean;
};

async function handle(
  transfer: ChainTransferred,
  watch: Watch | undefined,
  { memberIds = [memberId], isBudgetUsed = false, failure, isLost = false, isFull = false }: Members = {},
) {
  const [due, asked, swept]: [unknown[], ChecksToRequest[], unknown[]] = [[], [], []];
  const [commands, withdrawn]: [unknown[], unknown[]] = [[], []];
  const budgets: Draw[] = [];
  let [drawn, ruleSetsRead] = [0, 0];
  await makeHandleTransfer({
    watches: { readByUid: async () => watch, inPartition: async () => [watch] },
    ruleSets: {
      async read() {
        ruleSetsRead += 1;
        return aRuleSet('app_1', 'set', { rules: RULES });
      },
    },
    followed: {
      isFollowedBy: async (_: string, { contractAddress, blockTag }: ChainTransferred) =>
        isLost ? undefined : contractAddress === CONTRACT && blockTag === watch?.blockTag,
      withdrawSilent: async (_: string, one: unknown) => void withdrawn.push(one),
    },
    members: {
      async *ofWallet() {
        yield memberIds.map((id) => ({ watchUid: watchUid(aWatch()), memberId: id }));
      },
      setDue: async (names: unknown) => void due.push(names),
      async *readInPages() {
        yield [aMember()];
      },
    },
    throttle: {
      async take(draws: readonly Draw[]) {
        budgets.push(...draws);
        if (isBudgetUsed) throw new ServiceError('rate-limited', 'used');
        drawn += 1;
      },
      async refund() {
        drawn -= 1;
      },
    },
    openParts: { take: async () => true },
    sweepSoon: async (one: unknown) => void swept.push(one),
    async requestChecks(checks: ChecksToRequest) {
      if (failure) throw failure;
      asked.push(checks);
      return isFull ? checks.members : [];
    },
    publish: async (_: unknown, command: unknown) => void commands.push(command),
    partitions: [0],
    now: () => Date.parse(atSecond(100)),
  } as unknown as Parameters<typeof makeHandleTransfer>[0])(transfer, {} as RecordContext).catch(
    (error: unknown) => {
      if (error !== failure) throw error;
    },
  );
  return { due, asked, swept, commands, withdrawn, drawn, ruleSetsRead, budgets };
}

const NOTHING = {
  ...{ due: [], asked: [], swept: [], commands: [], withdrawn: [], budgets: [] },
  ...{ drawn: 0, ruleSetsRead: 0 },
};

test('a transfer has the members of its wallet checked at its block or a later one, free of charge', async () => {
  const { due, asked } = await handle(TRANSFER, aWatch());
  expect(due).toHaveLength(1);
  expect(asked).toMatchObject([
    { why: { cause: 'transfer', transfer: EVENT }, isCharged: false, owed: { '1': 9 } },
  ]);
});

test('the free checks of transfers are those of an account, whichever of its client apps they are for', async () => {
  const { budgets } = await handle(TRANSFER, aWatch({ clientId: 'app_7', accountId: 'acc_7' }));
  expect(budgets).toMatchObject([{ owner: 'acc_7', count: 1 }]);
});

test('a transfer withdraws a change that a sweep found earlier than the transfer arrived', async () => {
  const { withdrawn } = await handle(TRANSFER, aWatch());
  expect(withdrawn).toMatchObject([{ contractAddress: CONTRACT, account, blockNumber: 9 }]);
});

test('a dropped transfer has its members checked from the first dropped block on, and is not named', async () => {
  const { asked } = await handle({ ...TRANSFER, dropped: true }, aWatch());
  expect(asked).toMatchObject([{ owed: { '1': 9 } }]);
  expect(asked[0]?.why).toEqual({ cause: 'transfer' });
});

test.each([
  ['does not follow transfers', aWatch({ follow: false })],
  ['has another block tag', aWatch({ blockTag: 'finalized' })],
  ['is gone', undefined],
])('a watch that %s has no member checked, neither now nor later', async (_, watch) => {
  expect(await handle(TRANSFER, watch)).toEqual(NOTHING);
});

test('a transfer of a contract that the watch does not follow makes no member due, and no rule set is read', async () => {
  const spam = { ...TRANSFER, contractAddress: `0x${'5b'.repeat(20)}` };
  expect(await handle(spam, aWatch())).toEqual(NOTHING);
});

test('of all watches that have a wallet, only those that follow the contract are read', async () => {
  const uids = ['app_1/a/1', 'app_2/b/1', 'app_3/c/1'];
  const read: string[] = [];
  const deps = partially<Dependencies>({
    watches: { readByUid: async (uid) => void read.push(uid) },
    followed: { isFollowedBy: async (uid) => uid === uids[1] },
    members: {
      async *ofWallet() {
        yield uids.map((uid) => ({ watchUid: uid, memberId }));
      },
    },
  });
  await makeHandleTransfer(deps)(TRANSFER, {} as RecordContext);
  expect(read).toEqual([uids[1]]);
});

test('while Redis has lost which contracts are followed, the rule set says whether a transfer makes members due', async () => {
  expect(await handle(TRANSFER, aWatch(), { isLost: true })).toMatchObject({ drawn: 1 });
  const spam = { ...TRANSFER, contractAddress: `0x${'5b'.repeat(20)}` };
  expect(await handle(spam, aWatch(), { isLost: true })).toEqual({ ...NOTHING, ruleSetsRead: 1 });
  const finalized = { ...TRANSFER, blockTag: 'finalized' } as const;
  expect(await handle(finalized, aWatch(), { isLost: true })).toEqual({ ...NOTHING, ruleSetsRead: 1 });
});

test('a transfer that finds too many open parts is left to the owner of the member, who owes its block', async () => {
  const { commands } = await handle(TRANSFER, aWatch(), { isFull: true });
  expect(commands).toMatchObject([
    {
      ...{ command: 'owe', memberIds: [memberId] },
      owed: { blocks: { '1': 9 }, why: { cause: 'transfer', transfer: EVENT } },
    },
  ]);
});

test('a transfer whose checks could not be requested costs its client app no free check: it is processed again', async () => {
  const failure = new ServiceError('broker-unavailable', 'away');
  expect(await handle(TRANSFER, aWatch(), { failure })).toMatchObject({ asked: [], drawn: 0 });
  expect(await handle(TRANSFER, aWatch())).toMatchObject({ drawn: 1 });
});

test.each([
  ['has the wallet in more members than are checked at once', { memberIds: manyIds }],
  ['belongs to an account whose free checks of the hour are used', { isBudgetUsed: true }],
])('a watch that %s is swept instead', async (_, members) => {
  expect(await handle(TRANSFER, aWatch(), members)).toMatchObject({
    swept: [aWatch()],
    due: [],
    asked: [],
    drawn: 0,
  });
});

test('transfers that may have been missed make sweeps due, and no single member', async () => {
  const { account: _, ...missed } = TRANSFER;
  expect(await handle(missed, aWatch())).toEqual({ ...NOTHING, swept: [aWatch()] });
});
