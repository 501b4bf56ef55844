import { z } from 'zod';
import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import { CheckRequested } from '#shared/contracts/check-requested.ts';
import type { GiveUp } from '#shared/kafka/consumer/record.ts';
import { composeFailure, type FailedCheck } from './domain/compose-result.ts';

type Dependencies = {
  readonly publish: (completed: CheckCompleted, traceparent: string) => Promise<void>;
  readonly observeFailure: (rules: readonly { readonly chainId: number }[]) => void;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** What is left of a message that does not match its schema: enough to end its check, or nothing. */
const Remains = CheckRequested.pick({
  requestId: true,
  clientId: true,
  delivery: true,
  acceptedAt: true,
  retainUntil: true,
  chargedMonth: true,
}).extend({
  rules: z
    .array(
      z.object({
        roleId: z.string(),
        chainId: z.number().int().positive(),
        contractAddress: z.string().optional(),
      }),
    )
    .max(1_000)
    .catch([]),
});

/**
 * Ends a check that could not be evaluated: `failed`, with `internal` for every rule. Of a record that cannot be
 * read as a check, whatever names the check is enough; of any other there is nothing to end.
 */
export function makeGiveUp({ publish, observeFailure, now }: Dependencies): GiveUp<CheckRequested> {
  return async function giveUp({ message, record }) {
    const check = message ?? remainsOf(record.value);
    if (check === undefined) return;
    const failure = composeFailure(check, new Date(now()).toISOString());
    await publish(failure, record.traceparent);
    observeFailure(check.rules);
  };
}

function remainsOf(value: Buffer | null): FailedCheck | undefined {
  let json: unknown;
  try {
    json = JSON.parse(value?.toString() ?? '');
  } catch {
    return undefined;
  }
  const remains = Remains.safeParse(json);
  return remains.success ? remains.data : undefined;
}
