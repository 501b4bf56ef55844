import { z } from 'zod';
import { BatchEntry, type BatchPartCompleted, BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { type GiveUp, positionOf } from '#shared/kafka/consumer/record.ts';
import { PartLines } from '../domain/compose-part.ts';
import {
  composeFailure,
  type FailedCheck,
  failureOf,
  type NamedRule,
  nameRule,
} from '../domain/compose-result.ts';
import { explainUnread } from '../domain/explain-rules.ts';
import { completePart } from './handle-part.ts';
import type { PublishResult } from './publish-result.ts';

type Dependencies = {
  readonly recordFailure: (rules: readonly { readonly chainId: number }[]) => void;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
};

type PartialRule = Omit<NamedRule, 'roleId'>;

/** Where a rule reads: a composed rule counts as its first simple rule. */
const PartialRule: z.ZodType<PartialRule> = z.union([
  z.object({ chainId: z.number().int().positive(), contractAddress: z.string().optional() }),
  z
    .object({
      get rules() {
        return z.tuple([PartialRule], z.unknown());
      },
    })
    .transform(({ rules: [first] }) => first),
]);

/** The rules of a message that does not match its schema, as far as a failure names them. */
const PartialRules = z
  .array(z.object({ roleId: z.string() }).and(PartialRule))
  .max(1_000)
  .catch([]);

/** The fields that a failure result needs, of a message that does not match the full schema. */
const PartialCheck = CheckRequested.pick({
  requestId: true,
  clientId: true,
  accountId: true,
  keyId: true,
  delivery: true,
  acceptedAt: true,
  retainUntil: true,
  chargedMonth: true,
  ruleSet: true,
}).extend({
  rules: PartialRules,
});

/**
 * Publishes the failure of a check that could not be evaluated: `failed`, with `internal` for every
 * rule. A record that does not match the schema needs only the fields that identify its check; any
 * other record is skipped.
 */
export function makeGiveUp({
  publishResult,
  recordFailure,
  redisNowMs,
}: Dependencies & { readonly publishResult: PublishResult }): GiveUp<CheckRequested> {
  return async function giveUp({ message, record }) {
    const check =
      message === undefined
        ? parsePartialCheck(record.value)
        : { ...message, rules: message.rules.map(nameRule) };
    if (check === undefined) return;
    const details = message?.explain ? tryToExplain(message.rules) : undefined;
    const failure = composeFailure(check, new Date(redisNowMs()).toISOString(), details);
    await publishResult({ ...failure, request: positionOf(record) }, check.rules.length, record);
    recordFailure(check.rules);
  };
}

/** Nothing if the rules themselves made the check fail: its failure must be published all the
 * same. */
function tryToExplain(rules: CheckRequested['rules']) {
  try {
    return explainUnread(rules);
  } catch {
    return undefined;
  }
}

const parsePartialCheck = (value: Buffer | null): FailedCheck | undefined =>
  parsePartially(PartialCheck, value);

/** Parses the fields of an unreadable record that its failure needs; nothing if one of them is
 * missing. */
function parsePartially<T>(schema: z.ZodType<T>, value: Buffer | null): T | undefined {
  let json: unknown;
  try {
    json = JSON.parse(value?.toString() ?? '');
  } catch {
    return undefined;
  }
  const parsed = schema.safeParse(json);
  return parsed.success ? parsed.data : undefined;
}

/** The fields that a failure result needs, of a part that does not match the full schema. */
const PartialPart = BatchPartRequested.omit({
  onUndetermined: true,
  consistency: true,
  explain: true,
  proof: true,
  idempotency: true,
}).extend({
  entries: z
    .array(BatchEntry.catch({ account: ZERO_ADDRESS }))
    .min(1)
    .max(100_000),
  rules: PartialRules,
});

/**
 * Publishes the failure of a part that could not be evaluated: each of its entries is `failed`,
 * with `internal` for every rule. Other parts of the batch are not affected. A record that does not
 * match the schema needs only the fields that identify its part; any other record is skipped.
 */
export function makeGiveUpPart({
  publish,
  recordFailure,
  redisNowMs,
}: Dependencies & {
  readonly publish: (completed: BatchPartCompleted, traceparent: string) => Promise<void>;
}): GiveUp<BatchPartRequested> {
  return async function giveUpPart({ message, record }) {
    const part =
      message === undefined
        ? parsePartially(PartialPart, record.value)
        : { ...message, rules: message.rules.map(nameRule) };
    if (part === undefined) return;
    const { entries, rules } = part;
    const lines = new PartLines(part, {});
    const failure = failureOf(rules);
    const details = message?.explain ? tryToExplain(message.rules) : undefined;
    for (const entry of entries) lines.add(entry, failure, { details });
    const evaluatedAt = new Date(redisNowMs()).toISOString();
    await publish(await completePart(part, lines.text, lines.counts, evaluatedAt), record.traceparent);
    for (const _ of entries) recordFailure(rules);
  };
}
