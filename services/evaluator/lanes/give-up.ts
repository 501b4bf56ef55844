import { z } from 'zod';
import { BatchEntry, BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import type { GiveUp } from '#shared/kafka/consumer/record.ts';
import type { Dependencies } from '../dependencies.ts';
import { failWith, faultsOf, type NamedRule, nameRule, ResultHeader } from '../domain/compose-result.ts';
import { explainUnread } from '../domain/explain-rules.ts';
import { makeEncode } from './encode.ts';
import type { EvaluationRequest } from './evaluate.ts';

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

/** The members that the failure of a check needs. */
const PartialCheck = ResultHeader.extend({ rules: PartialRules });

/** The members that the failure of a part needs. */
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

const PartialRequest = z.union([PartialPart, PartialCheck]);

/**
 * Publishes the failure of a check, or of each entry of a part, that could not be evaluated:
 * `failed`, with `internal` for every rule. Other parts of a batch are not affected. A record that
 * does not match the schema needs only the members that identify its check; any other record is
 * skipped.
 */
export function makeGiveUp(
  deps: Pick<Dependencies, 'publish' | 'results' | 'metrics' | 'redisNowMs'>,
): GiveUp<EvaluationRequest> {
  const encode = makeEncode(deps);
  return async function giveUp({ message, record }) {
    const request = message
      ? { ...message, rules: message.rules.map(nameRule) }
      : parsePartially(record.value);
    if (request === undefined) return;
    const { rules } = request;
    const details = message?.explain ? tryToExplain(message.rules) : undefined;
    const outcome = failWith(faultsOf(rules));
    const answer = encode(request, { evaluatedAt: new Date(deps.redisNowMs()).toISOString(), blocks: {} });
    const entries = 'entries' in request ? request.entries : [{ account: ZERO_ADDRESS }];
    for (const entry of entries) answer.add(entry, outcome, { details });
    await answer.publish(record);
    deps.metrics.recordFailure(rules, entries.length);
  };
}

/** Nothing if the rules themselves made the check fail: its failure must be published all the
 * same. */
function tryToExplain(rules: EvaluationRequest['rules']) {
  try {
    return explainUnread(rules);
  } catch {
    return undefined;
  }
}

/** Nothing if a member that the failure needs is missing. */
function parsePartially(value: Buffer | null): z.infer<typeof PartialRequest> | undefined {
  try {
    return PartialRequest.safeParse(JSON.parse(value?.toString() ?? '')).data;
  } catch {
    return undefined;
  }
}
