import { z } from 'zod';
import { BlockReport, RoleVerdict, RuleFault } from '../checks/result.ts';

export const TEST_EVENT_PREFIX = 'test_';

/** The body of a test webhook: a result without roles; its `type` distinguishes it from results. */
export const TestEvent = z.object({
  type: z.literal('test'),
  requestId: z.string(),
  status: z.literal('completed'),
  // Empty, and typed as those of a result: generated clients then read both alike.
  roles: z.array(RoleVerdict).max(0),
  errors: z.array(RuleFault).max(0),
  evaluatedAt: z.iso.datetime(),
  /** Empty. */
  blocks: z.record(z.string(), BlockReport),
});
export type TestEvent = z.infer<typeof TestEvent>;
