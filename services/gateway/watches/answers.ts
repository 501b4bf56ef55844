import { z } from 'zod';
import { RoleVerdict, RuleDetail, RuleFault } from '#shared/contracts/checks/result.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';
import { WatchSettings } from '#shared/contracts/watches/watch.ts';
import { Transfer } from '#shared/contracts/watches/watch-check.ts';

/** Schemas of watches for the OpenAPI document and the types of the client library. */

/** Rules of an answer are as they were sent, so all of these are of the input kind. */
const INPUT = { unusedIO: 'input' } as const;
const BlockNumbers = z.record(z.string(), z.number().int().nonnegative());
export const Id = z.string().regex(RULE_SET_ID);
const Instant = z.iso.datetime();

/** The member that an event is about. */
const Member = {
  account: z.string().optional(),
  accounts: z.array(z.string()).optional(),
  ref: z.string().optional(),
};
const StalledChains = z.array(
  z
    .object({
      chainId: z.number().int().positive(),
      since: Instant.meta({ description: 'When the chain was last read.' }),
    })
    .meta({ ...INPUT, id: 'StalledChain' }),
);
export const Watch = z
  .object({
    watchId: Id,
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
        'Why the watch is paused: `requested`, `quota-exceeded`, `quota-share-exceeded`, or `bytes-per-day` until midnight (UTC).',
    }),
    createdAt: Instant,
    updatedAt: Instant,
  })
  .meta({ ...INPUT, id: 'Watch' });
export const WatchList = z
  .object({ watches: z.array(Watch), next: Id.optional() })
  .meta({ ...INPUT, id: 'WatchList' });
export const MemberChanges = z
  .object({
    added: z.number().int().nonnegative(),
    replaced: z.number().int().nonnegative(),
    removed: z.number().int().nonnegative(),
    members: z.number().int().nonnegative(),
  })
  .meta({ ...INPUT, id: 'MemberChanges' });
export const WatchMember = z
  .object({
    ...Member,
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
export const MemberList = z
  .object({ members: z.array(WatchMember), next: z.string().optional() })
  .meta({ ...INPUT, id: 'MemberList' });
export const RolesChanged = z
  .object({
    type: z.literal('roles.changed'),
    watchId: Id,
    ...Member,
    addedAt: Instant,
    sequence: z.number().int().positive(),
    roles: z.array(RoleVerdict.extend({ before: z.boolean().nullable() })),
    cause: z.enum(['first', 'transfer', 'schedule', 'rule-set', 'release']),
    transfer: Transfer.optional().meta({
      description: 'With cause `transfer`: the newest one that caused the check, if it is still known.',
    }),
    details: z
      .array(RuleDetail)
      .optional()
      .meta({ description: 'With `explain`: of the rules of the changed roles.' }),
    blockNumbers: BlockNumbers,
    evaluatedAt: Instant,
  })
  .meta({ ...INPUT, id: 'RolesChanged', description: 'All decided roles of a member, changed ones first.' });
const blindness = <Type extends string>(type: Type) =>
  z.object({ type: z.literal(type), watchId: Id, chains: StalledChains });
export const WatchStalled = blindness('watch.stalled').meta({
  ...INPUT,
  id: 'WatchStalled',
  description: 'Chains that could not be read for `stalledAfterSeconds`.',
});
export const WatchRecovered = blindness('watch.recovered').meta({
  ...INPUT,
  id: 'WatchRecovered',
  description: 'The chains of a `watch.stalled` can be read, and what was owed has been checked.',
});
export const WatchHeld = z
  .object({
    type: z.literal('watch.held'),
    watchId: Id,
    roles: z.array(
      z.object({
        id: z.string(),
        holders: z.number().int().nonnegative(),
        revocations: z.number().int().nonnegative(),
      }),
    ),
  })
  .meta({ ...INPUT, id: 'WatchHeld' });
