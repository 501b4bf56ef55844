import type { z } from 'zod';
import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { ACCOUNT_OPERATIONS } from '../features/accounts/account-operations.ts';
import { APP_OPERATIONS } from '../features/apps/app-operations.ts';
import { BATCH_OPERATIONS } from '../features/batches/batch-operations.ts';
import { CHECK_OPERATIONS } from '../features/checks/check-operations.ts';
import { DELIVERY_OPERATIONS } from '../features/deliveries/delivery-operations.ts';
import { OPERATOR_OPERATIONS } from '../features/operator/operator-operations.ts';
import { RULE_SET_OPERATIONS } from '../features/rule-sets/rule-set-operations.ts';
import type { SessionOrigin } from '../features/sessions/sessions.ts';
import { SINGLE_SIGN_ON_OPERATIONS } from '../features/single-sign-on/single-sign-on-operations.ts';
import { MEMBER_OPERATIONS } from '../features/team/member-operations.ts';
import { USAGE_OPERATIONS } from '../features/usage/usage-operations.ts';
import { WATCH_OPERATIONS } from '../features/watches/watch-operations.ts';
import { type Declaration, type Download, type Operation, operationOf, type Upload } from './operation.ts';

const DECLARATIONS = {
  ...ACCOUNT_OPERATIONS,
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
} as const satisfies Record<string, Declaration>;

/** With the types of each body, query and answer. */
export type Declared = typeof DECLARATIONS;
export type OperationId = keyof Declared;

export const OPERATIONS = Object.fromEntries(
  Object.entries<Declaration>(DECLARATIONS).map(([id, declaration]) => [id, operationOf(declaration)]),
) as Readonly<Record<OperationId, Operation>>;

type OutputOf<O, Name extends string> = O extends { readonly [N in Name]: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;

/** Read for the operation by its path: an app of the account, or of a team that it belongs to. */
type AppOf<Id extends OperationId> = Declared[Id]['call'] extends `${string} /api/apps/:clientId${string}`
  ? ClientApp
  : undefined;
type UploadOf<Id extends OperationId> = Declared[Id] extends { readonly upload: string } ? Upload : undefined;
/** The type that a handler returns: the input of the answer's schema, or a file. */
type AnswerOf<Id extends OperationId> = Declared[Id] extends {
  readonly answer: infer S extends z.ZodType;
}
  ? z.input<S>
  : Declared[Id] extends { readonly download: readonly string[] }
    ? Download
    : // biome-ignore lint/suspicious/noConfusingVoidType: it is a handler's return type, and nothing is returned
      void;

/** An authorized request: its body and query are valid, its session was found. */
export type Call<Id extends OperationId> = SessionOrigin & {
  readonly body: OutputOf<Declared[Id], 'body'>;
  readonly query: OutputOf<Declared[Id], 'query'>;
  readonly upload: UploadOf<Id>;
  /** A path parameter. @throws Problem `not-found` if it cannot be an id and has no schema of its
   * own */
  readonly param: (name: string) => string;
  /** The signed-in account; an empty account for public operations. */
  readonly account: Account;
  /** The app that the operation is about, if it is about one. */
  readonly app: AppOf<Id>;
  /** The account that owns the app of the operation: its limits count. The signed-in account where
   * there is no app. */
  readonly owner: Account;
  /** The `Idempotency-Key` header; empty if the operation is not idempotent. */
  readonly idempotencyKey: string;
  /**
   * Executes a plan, once for the `Idempotency-Key`: see `idempotency.ts`.
   *
   * @param step names a further plan of the same request
   */
  readonly once: <T>(fresh: T, execute?: (plan: T) => Promise<unknown>, step?: string) => Promise<T>;
  /** Whose turn it is in queues; budgets count by its site, the `accountId`. */
  readonly visitor: AppOwner;
  /** The session token in the request's cookie, valid or not. */
  readonly token: string | undefined;
  /** Ends the request's session, and opens one of the account, if one is given. */
  readonly setSession: (account: Account | undefined) => Promise<void>;
};

type Handle<Id extends OperationId> = (call: Call<Id>) => Promise<AnswerOf<Id>>;

export type Handlers<Id extends OperationId> = { readonly [Each in Id]: Handle<Each> };
