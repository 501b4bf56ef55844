import type { z } from 'zod';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { ACCOUNT_OPERATIONS } from '../features/accounts/account-operations.ts';
import { APP_OPERATIONS } from '../features/apps/app-operations.ts';
import { BATCH_OPERATIONS } from '../features/batches/batch-operations.ts';
import { CHECK_OPERATIONS } from '../features/checks/check-operations.ts';
import { DELIVERY_OPERATIONS } from '../features/deliveries/delivery-operations.ts';
import { OPERATOR_OPERATIONS } from '../features/operator/operator-operations.ts';
import { RULE_SET_OPERATIONS } from '../features/rule-sets/rule-set-operations.ts';
import { SESSION_OPERATIONS } from '../features/sessions/session-operations.ts';
import { SINGLE_SIGN_ON_OPERATIONS } from '../features/single-sign-on/single-sign-on-operations.ts';
import { MEMBER_OPERATIONS } from '../features/team/member-operations.ts';
import { USAGE_OPERATIONS } from '../features/usage/usage-operations.ts';
import { WATCH_OPERATIONS } from '../features/watches/watch-operations.ts';
import type { Download, Operation, Upload } from './operation.ts';

/** Every operation, by its id. */
export const OPERATIONS = {
  ...ACCOUNT_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...SINGLE_SIGN_ON_OPERATIONS,
  ...APP_OPERATIONS,
  ...USAGE_OPERATIONS,
  ...CHECK_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...RULE_SET_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...WATCH_OPERATIONS,
  ...MEMBER_OPERATIONS,
  ...OPERATOR_OPERATIONS,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof OPERATIONS;
type Declared = typeof OPERATIONS;

type OutputOf<O, Name extends string> = O extends { readonly [N in Name]: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;

export type BodyOf<Id extends OperationId> = OutputOf<Declared[Id], 'body'>;
export type QueryOf<Id extends OperationId> = OutputOf<Declared[Id], 'query'>;
/** Read for the operation by its path: an app of the account, or of a team that it belongs to. */
export type AppOf<Id extends OperationId> = Declared[Id]['path'] extends `/api/apps/:clientId${string}`
  ? ClientApp
  : undefined;
export type UploadOf<Id extends OperationId> = Declared[Id] extends { readonly upload: string }
  ? Upload
  : undefined;
/** The type that a handler returns: the input of the answer's schema, or a file. */
export type AnswerOf<Id extends OperationId> = Declared[Id] extends {
  readonly answer: infer S extends z.ZodType;
}
  ? z.input<S>
  : Declared[Id] extends { readonly download: readonly string[] }
    ? Download
    : // biome-ignore lint/suspicious/noConfusingVoidType: it is a handler's return type, and nothing is returned
      void;
