import type { Account } from '#shared/contracts/apps/client-app.ts';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import type { AnswerOf, AppOf, BodyOf, OperationId, QueryOf, UploadOf } from './operations.ts';

/** An authorized request: its body and query are valid, its session was found. */
export type Call<Id extends OperationId> = {
  readonly body: BodyOf<Id>;
  readonly query: QueryOf<Id>;
  readonly upload: UploadOf<Id>;
  /** A path parameter. @throws Problem `not-found` if it cannot be an id */
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
  /** The caller's address, to show: of an IPv6 address its /64 network. */
  readonly address: string;
  /** Whose turn it is in queues; budgets count by its site, the `accountId`. */
  readonly visitor: AppOwner;
  /** The caller's browser in a few words: `Firefox on Linux`. */
  readonly browser: string;
  /** The session token in the request's cookie, valid or not. */
  readonly token: string | undefined;
  /** Sets the session cookie; `undefined` clears it. */
  readonly setSessionToken: (token: string | undefined) => void;
};

export type Handle<Id extends OperationId> = (call: Call<Id>) => Promise<AnswerOf<Id>>;

/** The handlers of some operations. */
export type Handlers<Id extends OperationId> = { readonly [Each in Id]: Handle<Each> };
