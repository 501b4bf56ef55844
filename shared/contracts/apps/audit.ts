import { z } from 'zod';
import { defineTopic } from '../topic.ts';

/** One write by an operator or a developer: actor, action and subject. Never a secret. */
export const Audit = z.object({
  accountId: z.string(),
  /** The client app that it was done to, if any. */
  clientId: z.string().optional(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  at: z.iso.datetime(),
});
export type Audit = z.infer<typeof Audit>;

export const audit = defineTopic({
  name: 'audit.v1',
  schema: Audit,
  keyOf: (message) => message.accountId,
  partitionCount: 12,
  retentionDays: 400,
});
