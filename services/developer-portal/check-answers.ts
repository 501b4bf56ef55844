import { z } from 'zod';
import { MODES, STATUSES } from '#shared/contracts/day-figures.ts';
import { UndeterminedCode } from '#shared/contracts/result.ts';
import { DeliveryAnswer } from './api-answers.ts';

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
    /** The result as clients read it; absent once its retention has ended. */
    result: z.record(z.string(), z.unknown()).optional(),
    /** Of a check with a callback URL. */
    delivery: DeliveryAnswer.optional(),
  })
  .meta({ id: 'Check' });
