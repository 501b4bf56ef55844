import type { AppState } from '#shared/contracts/apps/refuse-app.ts';
import type { BaseOperation } from '#shared/http/operation.ts';
import type { Permission } from '../domain/permissions.ts';

/** The callers that may use an operation: all, a signed-in account, or operators. */
export type Access = 'public' | 'session' | 'operator';

/** One operation of the portal's API. */
export type Operation = BaseOperation<Access> & {
  /** Of an operation on an app, where it does not follow from the method; see `permissionOf`. */
  readonly permission?: Permission;
  /** What an operation on an app needs beside the permission: an app that is not suspended, or one
   * whose scope is approved too. */
  readonly needs?: AppState;
  /** Requires an `Idempotency-Key`; a repeated request creates nothing new. */
  readonly isIdempotent?: true;
  /** Draws from the budget for removals, although its method is not DELETE: see
   * `account-budget.ts`. */
  readonly endsSomething?: true;
  /** Of what an operator may still do who must set up a second factor. */
  readonly isOpenWithoutTwoFactor?: true;
  /** Reads up to thousands of records, so few of these operations run at a time. */
  readonly isHeavy?: true;
};

/** A body that is taken as it arrives. */
export type Upload = {
  readonly chunks: AsyncIterable<Buffer>;
  /** The `X-Api-Key` header; empty without it. */
  readonly apiKey: string;
};

/** A file that is sent piece by piece. */
export type Download = {
  readonly mediaType: string;
  readonly fileName: string;
  readonly pieces: AsyncIterable<Buffer>;
};

/** The path of a client app; what is below it is about this app. */
export const APP = '/api/apps/:clientId';

/** The common members of the operations of a kind. */
export const READ = { method: 'get', access: 'session' } as const;
export const WRITE = { method: 'post', access: 'session' } as const;
export const REMOVAL = { method: 'delete', access: 'session' } as const;
export const CREATION = { ...WRITE, isIdempotent: true, status: 201 } as const;
export const PUBLIC_WRITE = { method: 'post', access: 'public' } as const;
export const OPERATOR_READ = { method: 'get', access: 'operator' } as const;
export const OPERATOR_WRITE = { method: 'post', access: 'operator' } as const;
