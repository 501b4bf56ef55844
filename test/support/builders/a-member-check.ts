import type { RuleFault } from '#shared/contracts/checks/result.ts';
import type { WatchMember } from '#shared/contracts/watches/watch.ts';
import type { Answer } from '../../../services/watcher/domain/judge-answer.ts';
import { applyAnswer, type Rules } from '../../../services/watcher/domain/member.ts';

export const at = (second: number): string => new Date(Date.UTC(2026, 10, 22, 10, 0, second)).toISOString();

export const aMember = (over: Partial<WatchMember> = {}): WatchMember => ({
  watchUid: `app_1/w/${Date.parse(at(0))}`,
  memberId: '0x00000000000000000000000000000000000000aa',
  version: 1,
  wallets: { account: '0x00000000000000000000000000000000000000AA' },
  addedAt: at(0),
  walletsAt: at(0),
  sequence: 0,
  roles: [],
  ...over,
});

type Verdicts = Record<string, boolean | undefined>;

/** An answer of a check that read this block of chain 1 at the second of that number. */
export const anAnswer = (block: number, verdicts: Verdicts, over: Partial<Answer> = {}): Answer => ({
  why: { cause: 'schedule' },
  walletsAt: at(0),
  rules: 'set#1 latest',
  owed: {},
  verdicts: new Map(Object.entries(verdicts)),
  read: { '1': { block, askedAt: Date.parse(at(block)) } },
  errors: [],
  evaluatedAt: at(block),
  ...over,
});

/** The rules of `anAnswer`. */
export const rulesNow = (over: Partial<Rules> = {}): Rules => ({
  rules: 'set#1 latest',
  forks: {},
  graceSeconds: 0,
  chainsOf: new Map(),
  ...over,
});

export const UNREAD: RuleFault = {
  ...{ ruleIndex: 0, roleId: 'gold', chainId: 1 },
  ...{ code: 'rpc-unavailable', message: 'no endpoint answered', retryable: true },
};

/** A member with one granted and one denied role. */
export const holder = (): WatchMember =>
  applyAnswer(aMember(), anAnswer(1, { gold: true, vip: false }), rulesNow()).member;
