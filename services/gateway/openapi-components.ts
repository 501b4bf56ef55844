import { z } from 'zod';
import { RoleVerdict, RuleFault } from '#shared/contracts/result.ts';
import { BlockTag } from '#shared/contracts/rule.ts';
import { RULE_SET_ID } from '#shared/contracts/rule-set.ts';

/** Schemas of watches for the OpenAPI document and the types of the client library. */

/** Rules of an answer are as they were sent, so all of these are of the input kind. */
const INPUT = { unusedIO: 'input' } as const;
const BlockNumbers = z.record(z.string(), z.number().int().nonnegative());
const Id = z.string().regex(RULE_SET_ID);
const Instant = z.iso.datetime();

/** Who an event is about. */
const Member = {
  account: z.string().optional(),
  accounts: z.array(z.string()).optional(),
  ref: z.string().optional(),
};
const watchSettings = {
  everySeconds: z.number().int().min(60).max(604_800).optional(),
  follow: z.boolean().optional(),
  blockTag: BlockTag.optional(),
  quotaShare: z.number().positive().max(1).optional(),
  massRevocation: z
    .strictObject({ share: z.number().positive().max(1), atLeast: z.number().int().positive() })
    .optional(),
};
const WatchBody = z
  .strictObject({ ruleSet: Id, callbackUrl: z.string(), ...watchSettings })
  .meta({ ...INPUT, id: 'WatchBody' });
const Watch = z
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
        reason: z.string().optional(),
      }),
    ),
    ruleSet: Id,
    callbackUrl: z.string(),
    ...watchSettings,
  })
  .meta({ ...INPUT, id: 'Watch' });
const WatchList = z
  .object({ watches: z.array(Watch), next: Id.optional() })
  .meta({ ...INPUT, id: 'WatchList' });
const MemberChanges = z
  .object({
    added: z.number().int().nonnegative(),
    replaced: z.number().int().nonnegative(),
    removed: z.number().int().nonnegative(),
    members: z.number().int().nonnegative(),
  })
  .meta({ ...INPUT, id: 'MemberChanges' });
const WatchMember = z
  .object({
    ...Member,
    roles: z.array(RoleVerdict),
    sequence: z.number().int().nonnegative(),
    addedAt: Instant,
    since: Instant.optional(),
    checkedAt: Instant.optional(),
    blockNumbers: BlockNumbers,
    errors: z.array(RuleFault),
  })
  .meta({ ...INPUT, id: 'WatchMember' });
const MemberList = z
  .object({ members: z.array(WatchMember), next: z.string().optional() })
  .meta({ ...INPUT, id: 'MemberList' });
const RolesChanged = z
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
const WatchHeld = z
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

export const COMPONENTS = {
  WatchBody,
  Watch,
  WatchList,
  MemberChanges,
  WatchMember,
  MemberList,
  RolesChanged,
  WatchHeld,
};

type Schemas = Record<string, unknown>;

/** Leaves out the schemas that the generator made a second time, for answers, and that nothing refers to. */
export function withoutUnusedOutputs<Document extends { components?: { schemas?: object } }>(
  document: Document,
): Document {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const isSecond = (name: string) => name.endsWith('Output') && name.slice(0, -'Output'.length) in schemas;
  const kept = new Set(Object.keys(schemas).filter((name) => !isSecond(name)));
  const roots: unknown = { ...document, components: {} };
  for (const found of [roots, ...[...kept].map((name) => schemas[name])])
    keepReferenced(found, schemas, kept);
  const named = Object.fromEntries(Object.entries(schemas).filter(([name]) => kept.has(name)));
  return { ...document, components: { ...document.components, schemas: named } };
}

function keepReferenced(value: unknown, schemas: Schemas, kept: Set<string>): void {
  for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (kept.has(name)) continue;
    kept.add(name);
    keepReferenced(schemas[name], schemas, kept);
  }
}
