import { z } from 'zod';
import { RoleVerdict, RuleFault } from '#shared/contracts/checks/result.ts';
import { BlockTag } from '#shared/contracts/rules/rule.ts';
import { RULE_SET_ID } from '#shared/contracts/rules/rule-set.ts';

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
const watchSettings = {
  everySeconds: z.number().int(),
  follow: z.boolean(),
  blockTag: BlockTag,
  quotaShare: z.number(),
  massRevocation: z.object({ share: z.number(), atLeast: z.number().int() }),
};
export const Watch = z
  .object({
    watchId: Id,
    version: z.number().int().positive(),
    state: z.enum(['active', 'paused', 'held']),
    held: z.array(z.string()).meta({ description: 'Roles whose revocations are held back.' }),
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
    ruleSet: Id,
    callbackUrl: z.string(),
    ...watchSettings,
    reason: z.string().optional().meta({
      description:
        'Why the watch is paused: `requested`, `quota-exceeded`, `quota-share-exceeded`, `rule-set-missing`, or `bytes-per-day` until midnight (UTC).',
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
    blockNumbers: BlockNumbers,
    evaluatedAt: Instant,
  })
  .meta({ ...INPUT, id: 'RolesChanged', description: 'All decided roles of a member, changed ones first.' });
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
