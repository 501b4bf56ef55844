import { z } from 'zod';
import { CheckResult, RoleVerdict, RuleFault } from '#shared/contracts/checks/result.ts';

/** The answers as clients read them. Tests compare sent answers with these; the OpenAPI document is
 * made of them. */

export const RequestId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .meta({ description: 'Opaque and URL-safe.', example: 'AQIBofwEwmibyuoaXYj9AIDX34EW0VVy3Lod1f4H' });

export const Acknowledgement = z.object({ requestId: RequestId }).meta({ id: 'Acknowledgement' });

export const Pending = z
  .object({
    requestId: RequestId,
    status: z.literal('pending'),
    // Empty, and typed as those of a result: generated clients then read both answers alike.
    roles: z.array(RoleVerdict).max(0),
    errors: z.array(RuleFault).max(0),
  })
  .meta({ id: 'Pending' });

/** Part of the descriptions of results, because one entry does not decide its role. */
export const FOLDING_RULE =
  'Several rules may name one role: it is held if any of them is granted, undetermined if none is granted and any is ' +
  'in `errors`, and otherwise not held.';

export const Result = CheckResult.meta({
  id: 'CheckResult',
  description: `One shape for sync, poll and webhook. A rule that could not be read is in \`errors\` and not in \`roles\`. ${FOLDING_RULE}`,
});

export const ChainList = z
  .object({
    chains: z.array(
      z.object({
        chainId: z.number().int().positive(),
        name: z.string(),
        nativeSymbol: z.string(),
        state: z.enum(['ok', 'down', 'unknown']).meta({
          description:
            '`down`: no endpoint can be read; `unknown`: no check has asked lately. Right within 30 s while the ' +
            'chain is asked.',
        }),
        since: z.iso
          .datetime()
          .optional()
          .meta({ description: 'When the state last changed; absent for `unknown`.' }),
      }),
    ),
  })
  .meta({ id: 'ChainList' });

export const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: 'KeySet' });
