import { z } from 'zod';
import { DAY_MS } from '../durations.ts';
import { defineTopic } from '../topic.ts';

/**
 * How the view keeps an entry; the topic keeps all of them.
 *
 * | kind | what | kept |
 * | --- | --- | --- |
 * | `security` | people, keys, secrets, roles, scopes, tiers, sign-ins | each, by time |
 * | `read` | an operator's read of customers' data | by time; repeats within an hour are one |
 * | `write` | writes of an app's rule sets, watches and members, resends | by number; repeats within an hour are one |
 */
export const AuditKind = z.enum(['security', 'read', 'write']);
export type AuditKind = z.infer<typeof AuditKind>;

/** How long the view keeps entries that are kept by time. */
export const AUDIT_VIEW_KEPT_MS = 90 * DAY_MS;

/**
 * One act of an operator, a developer or an API key: actor, action and subject. People are named by
 * the ids of their accounts, never by an address. Never a secret.
 */
export const Audit = z.object({
  accountId: z.string(),
  /** The client app that it was done to, if any. */
  clientId: z.string().optional(),
  /** The id of an account or of an API key, or the name that the admin command was given. */
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  kind: AuditKind,
  /** Of a sign-in: browser and address. */
  from: z.string().optional(),
  at: z.iso.datetime(),
});
export type Audit = z.infer<typeof Audit>;

/** The account of entries that are about no customer, such as an operator's search. */
export const OPERATORS = 'operators';

export const audit = defineTopic({
  name: 'audit.v1',
  schema: Audit,
  keyOf: (message) => message.accountId,
  partitionCount: 12,
  retention: 'audit',
});
