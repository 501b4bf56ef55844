import { z } from 'zod';
import { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { MODES, STATUSES } from '#shared/contracts/usage/day-figures.ts';
import { DeliveryAnswer } from '../../http/api-answers.ts';

/** Answers about the log of an app's checks. */

const count = z.number().int().nonnegative();
const LoggedCheckFacts = {
  requestId: z.string(),
  mode: z.enum(MODES),
  status: z.enum(STATUSES),
  acceptedAt: z.iso.datetime(),
  /** From acceptance to the end of the evaluation. */
  durationMs: z.number(),
  /** Rules by outcome. */
  granted: count,
  denied: count,
  undetermined: count,
  /** The codes in `errors`, each once. */
  codes: z.array(UndeterminedCode),
  /** The API key of the request. */
  keyId: z.string(),
};
export const CheckPage = z
  .object({
    checks: z.array(z.object(LoggedCheckFacts).meta({ id: 'LoggedCheck' })),
    /** Given where there are more: the next page's `before`. */
    next: z.string().optional(),
  })
  .meta({ id: 'CheckPage' });
export const CheckAnswer = z
  .object({
    ...LoggedCheckFacts,
    /** The steps that were reached, in order; one whose time is not known is left out. */
    steps: z.array(
      z.object({
        name: z.enum(['accepted', 'started', 'evaluated', 'stored', 'delivered']),
        /** From the acceptance until then, in ms. */
        afterMs: count,
      }),
    ),
    /** The result as clients read it; absent once its retention has ended. */
    result: z.record(z.string(), z.unknown()).optional(),
    /** Of a check with a callback URL. */
    delivery: DeliveryAnswer.optional(),
  })
  .meta({ id: 'Check' });
/** The request of a check, to be sent again. */
export const CheckRequestAnswer = z
  .object({
    /** As a client sends it, without members that have their default. */
    body: z.record(z.string(), z.unknown()),
    /** The same for a terminal, with the key as `$ROLECALL_API_KEY`. */
    curl: z.string(),
  })
  .meta({ id: 'CheckRequest' });
