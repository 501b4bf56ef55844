import { gzipSync } from 'node:zlib';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import {
  type Checked,
  partitionOfMember,
  type Watch,
  type WatchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import { rulesStampOf } from '../../../services/watcher/domain/judge-answer.ts';
import { aBatchPartCompleted } from './a-batch.ts';
import { aRuleSet } from './a-rule-set.ts';

/** An instant this many seconds after the watch of these tests was made. */
export const atSecond = (second: number): string =>
  new Date(Date.UTC(2026, 10, 22, 10, 0, second)).toISOString();

export const aWatch = (over: Partial<Watch> = {}): Watch => ({
  clientId: 'app_1',
  watchId: 'w',
  version: 1,
  settingsVersion: 1,
  accountId: 'acc_1',
  ruleSet: 'set',
  callbackUrl: 'https://client.example/hook',
  everySeconds: 86_400,
  follow: true,
  blockTag: 'latest',
  explain: false,
  graceSeconds: 0,
  stalledAfterSeconds: 900,
  quotaShare: 0.5,
  massRevocation: { share: 0.2, atLeast: 20 },
  createdAt: atSecond(0),
  updatedAt: atSecond(0),
  held: [],
  ...over,
});

/** A member of `aWatch` that was never checked. */
export const aMember = (over: Partial<WatchMember> = {}): WatchMember => ({
  watchUid: watchUid(aWatch()),
  memberId: '0x00000000000000000000000000000000000000aa',
  version: 1,
  wallets: { account: '0x00000000000000000000000000000000000000aa' },
  addedAt: atSecond(0),
  walletsAt: atSecond(0),
  sequence: 0,
  roles: [],
  ...over,
});

/** The rules of `aRuleSet`, in `aWatch`. */
export const RULES = rulesStampOf(aRuleSet('app_1', 'set'), { blockTag: 'latest' });

/** A check of a member by `RULES` at this second, which has read nothing. */
export const aCheck = (second: number, over: Partial<Checked> = {}): Checked => ({
  at: atSecond(second),
  rules: RULES,
  seen: {},
  errors: [],
  ...over,
});

/** The result of a check of one member for the role `gold`; `undefined`: it could not be read. */
export function anAnswer(
  { memberId, wallets, walletsAt }: Pick<WatchMember, 'memberId' | 'wallets' | 'walletsAt'>,
  granted: boolean | undefined,
  second: number,
  check: Partial<WatchCheck> = {},
): BatchPartCompleted {
  const uid = watchUid(aWatch());
  const error = {
    ...{ ruleIndex: 0, roleId: 'gold', chainId: 1 },
    ...{ code: 'rpc-unavailable', message: 'no endpoint answered', retryable: true },
  };
  const line = {
    index: 0,
    account: wallets.account,
    ref: memberId,
    roles: granted === undefined ? [] : [{ id: 'gold', granted }],
    errors: granted === undefined ? [error] : [],
    blockNumbers: granted === undefined ? {} : { '1': second },
  };
  return aBatchPartCompleted('app_1', {
    requestId: `watch_${second}`,
    acceptedAt: atSecond(second),
    evaluatedAt: atSecond(second),
    headTimes: { '1': Date.parse(atSecond(second)) },
    roles: [{ id: 'gold', granted: 0, denied: 0, undetermined: 0 }],
    linesGzip: gzipSync(`${JSON.stringify(line)}\n`).toString('base64'),
    delivery: {
      mode: 'watch',
      partition: partitionOfMember(uid, memberId),
      check: {
        ...{ watchUid: uid, why: { cause: 'schedule' }, rules: RULES, owed: {} },
        walletTimes: [Date.parse(walletsAt)],
        ...check,
      },
    },
  });
}
