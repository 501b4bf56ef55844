import { randomUUID } from 'node:crypto';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import {
  type BatchEntry,
  type BatchPartRequested,
  checkRequestedBatch,
} from '#shared/contracts/batches/batch.ts';
import { makeReadCounter } from '#shared/contracts/rules/count-reads.ts';
import type { Rule } from '#shared/contracts/rules/rule.ts';
import { referenceOf, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import {
  partitionOfMember,
  type Watch,
  type WatchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import { isSurelyUnwritten } from '#shared/errors.ts';
import { boundResults, cutParts, partBounds } from '#shared/stores/batches/cut-parts.ts';
import { rulesStampOf } from '../domain/judge-answer.ts';
import type { ChecksToRequest, Stores } from '../stores.ts';
import type { ChangeWatch } from '../sweeps/change-watch.ts';
import type { Charge } from './watch-quota.ts';

/** A later result is not used. */
const RESULT_KEPT_MS = 86_400_000;
const BATCH_PARTITION_SHARE = 4;

/**
 * Charges checks of a watch; none where they are free, which is refused only where the account's
 * bytes of the day are used up. The limits of an app are those of its account, or its own where the
 * view has no such account. Returns false if not all were charged: the app was deleted, or quota or
 * bytes are used up and the watch was paused.
 */
export async function chargeChecks(
  { clientApps, accounts, quota, pause }: Stores & ChangeWatch,
  watch: Watch,
  checks: Pick<Charge, 'count' | 'month' | 'areEvaluated'>,
): Promise<boolean> {
  const { clientId, accountId, quotaShare } = watch;
  const app = await clientApps.read(clientId);
  if (app === undefined || app.deletedAt !== undefined) return false;
  const account = await accounts.read(app.accountId);
  const { requestsPerMonth } = account ? appLimitsOf(account) : app.limits;
  const outcome = await quota.charge({ clientId, accountId, quotaShare, requestsPerMonth, ...checks });
  if (outcome !== 'charged') await pause(watch, outcome);
  return outcome === 'charged';
}

/**
 * Cuts checks of members into parts of a batch, whose results come back to the partition of the
 * members. A part that surely could not be published is refunded: it is requested, and charged,
 * again. `beforePart` and a watch without quota or bytes, which is paused, end the requests.
 *
 * @throws ServiceError `broker-unavailable`, `publish-unknown`, `store-unavailable`
 */
export function makeRequestChecks(deps: Stores & ChangeWatch) {
  /** Returns the members whose checks were not requested. */
  return async function requestChecks(checks: ChecksToRequest): Promise<readonly WatchMember[]> {
    const { watch, ruleSet, members, isCharged } = checks;
    const { clientId } = watch;
    const parts = partsOf(members, rulesOf(ruleSet), watch.explain);
    for (const [index, part] of parts.entries()) {
      const requestId = `watch_${randomUUID()}`;
      const isOpen = checks.beforePart ?? ((id: string) => deps.openParts.take(watch, id));
      if (!(await isOpen(requestId))) return parts.slice(index).flat();
      const message = messageOf(checks, part, requestId, deps.now());
      const month = message.acceptedAt.slice(0, 7);
      if (!(await chargeChecks(deps, watch, { count: isCharged ? part.length : 0, month }))) {
        await deps.openParts.give(requestId);
        return parts.slice(index).flat();
      }
      try {
        await deps.publish(checkRequestedBatch, isCharged ? { ...message, chargedMonth: month } : message, {
          fairness: { accountId: watch.accountId, partitionShare: BATCH_PARTITION_SHARE },
        });
      } catch (error) {
        if (isSurelyUnwritten(error)) {
          if (isCharged) await deps.quota.refund({ clientId, month, count: part.length, requestId });
          await deps.openParts.give(requestId);
          await checks.afterLostPart?.(requestId);
        }
        throw error;
      }
    }
    return [];
  };
}

export type RequestChecks = ReturnType<typeof makeRequestChecks>;

function messageOf(
  { watch, ruleSet, why, owed, sweep, forgives, avoid }: ChecksToRequest,
  part: readonly WatchMember[],
  requestId: string,
  nowMs: number,
): BatchPartRequested {
  const uid = watchUid(watch);
  const check: WatchCheck = {
    watchUid: uid,
    why,
    rules: rulesStampOf(ruleSet, watch),
    walletTimes: part.map(({ walletsAt }) => Date.parse(walletsAt)),
    owed,
    ...(sweep === undefined ? {} : { sweep }),
    ...(forgives ? { forgives } : {}),
  };
  return {
    requestId,
    clientId: watch.clientId,
    accountId: watch.accountId,
    part: 0,
    partCount: 1,
    firstIndex: 0,
    entryCount: part.length,
    ruleSet: referenceOf(ruleSet),
    delivery: {
      mode: 'watch',
      partition: partitionOfMember(uid, part[0]?.memberId ?? ''),
      check,
    },
    acceptedAt: new Date(nowMs).toISOString(),
    retainUntil: new Date(nowMs + RESULT_KEPT_MS).toISOString(),
    entries: part.map(entryOf),
    rules: rulesOf(ruleSet),
    // An unreadable rule is never a "no", whatever the rule set says for checks.
    onUndetermined: 'omit',
    consistency: { blockTag: watch.blockTag, minBlock: { ...owed } },
    ...(avoid ? { avoid } : {}),
    ...(watch.explain ? { explain: true } : {}),
  };
}

const entryOf = ({ wallets, memberId }: WatchMember): BatchEntry => ({ ...wallets, ref: memberId });

/** Cuts members into parts by the bounds of a batch's parts, so that no result is larger than one
 * of a batch. */
function partsOf(
  members: readonly WatchMember[],
  rules: readonly Rule[],
  explain: boolean,
): readonly (readonly WatchMember[])[] {
  const cutter = cutParts(partBounds(bytesOf(rules)), (part: readonly WatchMember[]) => part);
  const readsOf = makeReadCounter(rules);
  const resultBytesOf = boundResults({ rules, explain, hasProof: false });
  for (const member of members) {
    const bytes = bytesOf(entryOf(member));
    cutter.add(member, { reads: readsOf(member.wallets), bytes, resultBytes: resultBytesOf(bytes) });
  }
  return cutter.end();
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
