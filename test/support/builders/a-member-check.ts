import type { RuleFault } from '#shared/contracts/checks/result.ts';
import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import { applyCheck } from '../../../services/watcher/domain/apply-check.ts';
import type { MemberCheck } from '../../../services/watcher/domain/judge-age.ts';

export const at = (second: number): string => new Date(Date.UTC(2026, 10, 22, 10, 0, second)).toISOString();

export const aMember = (over: Partial<WatchMember> = {}): WatchMember => ({
  clientId: 'app_1',
  watchId: 'w',
  watchCreatedAt: at(0),
  memberId: '0x00000000000000000000000000000000000000aa',
  version: 1,
  account: '0x00000000000000000000000000000000000000AA',
  addedAt: at(0),
  walletsAt: at(0),
  sequence: 0,
  roles: [],
  blockNumbers: {},
  errors: [],
  ...over,
});

type Verdicts = Record<string, boolean | undefined>;
export const aCheck = (block: number, verdicts: Verdicts, over: Partial<MemberCheck> = {}): MemberCheck => ({
  cause: 'schedule',
  accounts: ['0x00000000000000000000000000000000000000aa'],
  verdicts: new Map(Object.entries(verdicts)),
  blockNumbers: { '1': block },
  errors: [],
  evaluatedAt: at(block),
  askedAt: at(block),
  rules: 'set@1',
  ...over,
});

export const UNREAD: RuleFault = {
  ...{ ruleIndex: 0, roleId: 'gold', chainId: 1 },
  ...{ code: 'rpc-unavailable', message: 'no endpoint answered', retryable: true },
};

/** A member with one granted and one denied role. */
export const holder = (): WatchMember => applyCheck(aMember(), aCheck(1, { gold: true, vip: false })).member;
