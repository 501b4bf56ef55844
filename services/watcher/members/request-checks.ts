import { randomUUID } from 'node:crypto';
import {
  type BatchEntry,
  type BatchPartRequested,
  checkRequestedBatch,
} from '#shared/contracts/batches/batch.ts';
import { makeReadCounter } from '#shared/contracts/rules/count-reads.ts';
import type { Rule } from '#shared/contracts/rules/rule.ts';
import { type RuleSet, referenceOf, rulesOf } from '#shared/contracts/rules/rule-set.ts';
import {
  partitionOfMember,
  type Watch,
  type WatchMember,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { EndpointNames, WatchCheck } from '#shared/contracts/watches/watch-check.ts';
import { isSurelyUnwritten } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { boundResults, cutParts, partBounds } from '#shared/stores/batches/cut-parts.ts';
import { rulesStampOf } from '../domain/rules-stamp.ts';
import type { makeChargeChecks } from './charge-checks.ts';
import type { OpenParts } from './open-parts.ts';
import type { RefundWatch } from './watch-quota.ts';

/** A later result is not used. */
const RESULT_KEPT_MS = 86_400_000;
const BATCH_PARTITION_SHARE = 4;

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly chargeChecks: ReturnType<typeof makeChargeChecks>;
  readonly refund: RefundWatch;
  readonly openParts: Pick<OpenParts, 'give'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Checks of members of one partition. */
export type ChecksToRequest = Pick<WatchCheck, 'cause' | 'owed' | 'transfer' | 'sweep' | 'forgives'> & {
  readonly watch: Watch;
  readonly ruleSet: RuleSet;
  readonly members: readonly WatchMember[];
  readonly isCharged: boolean;
  /** By chain id, the endpoints that are asked only if there are too few others. */
  readonly avoid?: EndpointNames | undefined;
  /** Counts a part among the open ones, before it is charged and published; false ends the
   * requests. */
  readonly beforePart: (requestId: string) => Promise<boolean>;
  /** Called with the id of a part that surely could not be published. */
  readonly afterLostPart?: (requestId: string) => Promise<void>;
};

/**
 * Requests checks.
 *
 * @returns the members whose checks were not requested: `beforePart` said so, the app was deleted,
 *   or quota or bytes are used up and the watch was paused
 */
export type RequestChecks = (checks: ChecksToRequest) => Promise<readonly WatchMember[]>;

/**
 * Cuts checks of members into parts of a batch, whose results come back to the partition of the
 * members. A part that surely could not be published is refunded: it is requested, and charged,
 * again.
 *
 * @throws ServiceError `broker-unavailable`, `publish-unknown`, `store-unavailable`
 */
export function makeRequestChecks(deps: Dependencies): RequestChecks {
  return async function requestChecks(checks) {
    const { watch, ruleSet, members, isCharged } = checks;
    const { clientId } = watch;
    const parts = partsOf(members, rulesOf(ruleSet), watch.explain);
    for (const [index, part] of parts.entries()) {
      const requestId = `watch_${randomUUID()}`;
      if (!(await checks.beforePart(requestId))) return parts.slice(index).flat();
      const message = messageOf(checks, part, requestId, deps.now());
      const month = message.acceptedAt.slice(0, 7);
      if (!(await deps.chargeChecks(watch, { count: isCharged ? part.length : 0, month }))) {
        await deps.openParts.give(clientId, requestId);
        return parts.slice(index).flat();
      }
      try {
        await deps.publish(checkRequestedBatch, isCharged ? { ...message, chargedMonth: month } : message, {
          fairness: { accountId: watch.accountId, partitionShare: BATCH_PARTITION_SHARE },
        });
      } catch (error) {
        if (isSurelyUnwritten(error)) {
          if (isCharged) await deps.refund({ clientId, month, count: part.length, requestId });
          await deps.openParts.give(clientId, requestId);
          await checks.afterLostPart?.(requestId);
        }
        throw error;
      }
    }
    return [];
  };
}

function messageOf(
  { watch, ruleSet, cause, owed, transfer, sweep, forgives, avoid }: ChecksToRequest,
  part: readonly WatchMember[],
  requestId: string,
  nowMs: number,
): BatchPartRequested {
  const uid = watchUid(watch);
  const check: WatchCheck = {
    watchUid: uid,
    cause,
    rules: rulesStampOf(ruleSet, watch),
    walletTimes: part.map(({ walletsAt }) => Date.parse(walletsAt)),
    owed,
    ...(transfer === undefined ? {} : { transfer }),
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

const entryOf = ({ account, accounts, vaults, memberId }: WatchMember): BatchEntry => ({
  account,
  ...(accounts === undefined ? {} : { accounts }),
  ...(vaults === undefined ? {} : { vaults }),
  ref: memberId,
});

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
    cutter.add(member, { reads: readsOf(member), bytes, resultBytes: resultBytesOf(bytes) });
  }
  return cutter.end();
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
