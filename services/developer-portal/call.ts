import type { Account } from '#shared/contracts/client-app.ts';
import type { AnswerOf, BodyOf, OperationId, QueryOf } from './operations.ts';

/** A request that was let in: its body and query are valid, its session is known. */
export type Call<Id extends OperationId> = {
  readonly body: BodyOf<Id>;
  readonly query: QueryOf<Id>;
  /** A parameter of the path; one of a form that no id has is not found. */
  readonly param: (name: string) => string;
  /** Whoever is signed in. For operations that anybody may do there is nobody. */
  readonly account: Account;
  /** Of an operation that is done once. */
  readonly idempotencyKey: string;
  /** The key by which the caller's address is counted: an IPv6 address by its /64 network. */
  readonly address: string;
  /** The token of the session that the request came with, valid or not. */
  readonly token: string | undefined;
  /** Tells the browser the token of a session; nothing takes it away. */
  readonly tellSession: (token: string | undefined) => void;
};

export type Handle<Id extends OperationId> = (call: Call<Id>) => Promise<AnswerOf<Id>>;

/** The handlers of some operations. */
export type Handlers<Id extends OperationId> = { readonly [Each in Id]: Handle<Each> };
