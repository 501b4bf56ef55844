import { z } from 'zod';
import { BatchEntry, type BatchPartCompleted, BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import type { GiveUp } from '#shared/kafka/consumer/record.ts';
import { PartLines } from '../domain/compose-part.ts';
import { failureOf, nameRule } from '../domain/compose-result.ts';
import { PartialRules, parsePartially } from './give-up.ts';
import { completePart } from './handle-part.ts';

type Dependencies = {
  readonly publish: (completed: BatchPartCompleted, traceparent: string) => Promise<void>;
  readonly recordFailure: (rules: readonly { readonly chainId: number }[]) => void;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
};

/** The fields that a failure result needs, of a part that does not match the full schema. */
const PartialPart = BatchPartRequested.omit({
  onUndetermined: true,
  consistency: true,
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
 * Publishes the failure of a part that could not be evaluated: each of its entries is `failed`, with `internal` for every
 * rule. Other parts of the batch are not affected. A record that does not match the schema needs only the fields that
 * identify its part; any other record is skipped.
 */
export function makeGiveUpPart({
  publish,
  recordFailure,
  redisNowMs,
}: Dependencies): GiveUp<BatchPartRequested> {
  return async function giveUpPart({ message, record }) {
    const part =
      message === undefined
        ? parsePartially(PartialPart, record.value)
        : { ...message, rules: message.rules.map(nameRule) };
    if (part === undefined) return;
    const { entries, rules } = part;
    const lines = new PartLines(rules, part.firstIndex, {});
    const failure = failureOf(rules);
    for (const entry of entries) lines.add(entry, failure);
    const evaluatedAt = new Date(redisNowMs()).toISOString();
    await publish(await completePart(part, lines.text, lines.counts, evaluatedAt), record.traceparent);
    for (const _ of entries) recordFailure(rules);
  };
}
