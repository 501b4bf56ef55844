import { z } from 'zod';
import { RoleVerdict, RuleFault } from '../checks/result.ts';
import { BlockNumbers } from '../rules/rule.ts';
import { RULE_SET_ID } from '../rules/rule-set.ts';
import { WatchSettings } from './watch.ts';

/** Watches and members as clients and the portal see them: the answers of `present-watch.ts`. */

/** Rules of an answer are as they were sent, so all of these are of the input kind. */
export const INPUT = { unusedIO: 'input' } as const;
export const WatchId = z.string().regex(RULE_SET_ID);
const Instant = z.iso.datetime();

/** The wallets of a member, and the id that its client gave it. */
export const MemberNames = {
  account: z.string().optional(),
  accounts: z.array(z.string()).optional(),
  ref: z.string().optional(),
};
export const StalledChains = z.array(
  z
    .object({
      chainId: z.number().int().positive(),
      since: Instant.meta({ description: 'When the chain was last read.' }),
    })
    .meta({ ...INPUT, id: 'StalledChain' }),
);
export const PresentedWatch = z
  .object({
    watchId: WatchId,
    version: z.number().int().positive(),
    state: z.enum(['active', 'paused', 'held']),
    held: z.array(z.string()).meta({ description: 'Roles whose revocations are held back.' }),
    stalled: StalledChains.optional().meta({
      description: 'Chains that cannot be read for this watch, as `watch.stalled` reported them.',
    }),
    members: z.number().int().nonnegative(),
    following: z.array(
      z.object({
        chainId: z.number().int().positive(),
        contractAddress: z.string(),
        state: z.enum(['live', 'sweeps-only']),
        reason: z.string().optional().meta({
          description:
            'Why the contract is not followed; of a `live` one, that a sweep found a change without a transfer event.',
        }),
      }),
    ),
    ...WatchSettings.shape,
    reason: z.string().optional().meta({
      description:
        'Why the watch is paused: `requested`, `quota-exceeded`, `quota-share-exceeded`; `bytes-per-day` until midnight (UTC); `client-app-suspended` or `scope-not-approved` while the app may not be used.',
    }),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ ...INPUT, id: 'Watch' });
export type PresentedWatch = z.infer<typeof PresentedWatch>;
export const PresentedMember = z
  .object({
    ...MemberNames,
    vaults: z.array(z.string()).optional(),
    roles: z.array(
      RoleVerdict.extend({
        since: Instant.meta({ description: 'Since when the role has this verdict.' }),
        revocationHeld: z
          .boolean()
          .optional()
          .meta({ description: 'A revocation of this role is held back.' }),
      }),
    ),
    pending: z
      .array(z.object({ id: z.string(), since: Instant }))
      .optional()
      .meta({ description: 'Revocations in their grace: a second check decides.' }),
    sequence: z.number().int().nonnegative(),
    addedAt: Instant,
    since: Instant.optional(),
    checkedAt: Instant.optional(),
    blockNumbers: BlockNumbers,
    errors: z.array(RuleFault),
  })
  .meta({ ...INPUT, id: 'WatchMember' });
export type PresentedMember = z.infer<typeof PresentedMember>;
