import { AUTHZEN_OPERATIONS } from './authzen/operations.ts';
import { BATCH_OPERATIONS } from './batches/operations.ts';
import { CHECK_OPERATIONS } from './checks/operations.ts';
import { DELIVERY_OPERATIONS } from './deliveries/operations.ts';
import { RULE_SET_OPERATIONS } from './rule-sets/operations.ts';
import { SIGN_IN_OPERATIONS } from './sign-in/operations.ts';
import { WATCH_OPERATIONS } from './watches/operations.ts';

/** Every operation of the gateway's API, by its id. Server, OpenAPI document, documentation and
 * tests are made of it. */
export const OPERATIONS = {
  ...CHECK_OPERATIONS,
  ...SIGN_IN_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...RULE_SET_OPERATIONS,
  ...WATCH_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...AUTHZEN_OPERATIONS,
} as const;

export type OperationId = keyof typeof OPERATIONS;
