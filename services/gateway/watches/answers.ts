import { z } from 'zod';
import { RoleVerdict, RuleDetail } from '#shared/contracts/checks/result.ts';
import { BlockNumbers } from '#shared/contracts/rules/rule.ts';
import {
  INPUT,
  MemberNames,
  PresentedMember,
  PresentedWatch,
  StalledChains,
  WatchId,
} from '#shared/contracts/watches/presented-watch.ts';
import { Transfer } from '#shared/contracts/watches/watch-check.ts';

/** Schemas of watches for the OpenAPI document and the types of the client library. */

export const WatchList = z
  .object({ watches: z.array(PresentedWatch), next: WatchId.optional() })
  .meta({ ...INPUT, id: 'WatchList' });
export const MemberChanges = z
  .object({
    added: z.number().int().nonnegative(),
    replaced: z.number().int().nonnegative(),
    removed: z.number().int().nonnegative(),
    members: z.number().int().nonnegative(),
  })
  .meta({ ...INPUT, id: 'MemberChanges' });
export const MemberList = z
  .object({ members: z.array(PresentedMember), next: z.string().optional() })
  .meta({ ...INPUT, id: 'MemberList' });
export const RolesChanged = z
  .object({
    type: z.literal('roles.changed'),
    watchId: WatchId,
    ...MemberNames,
    addedAt: z.iso.datetime(),
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
    evaluatedAt: z.iso.datetime(),
  })
  .meta({ ...INPUT, id: 'RolesChanged', description: 'All decided roles of a member, changed ones first.' });
const blindness = <Type extends string>(type: Type) =>
  z.object({ type: z.literal(type), watchId: WatchId, chains: StalledChains });
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
    watchId: WatchId,
    roles: z.array(
      z.object({
        id: z.string(),
        holders: z.number().int().nonnegative(),
        revocations: z.number().int().nonnegative(),
      }),
    ),
  })
  .meta({ ...INPUT, id: 'WatchHeld' });
