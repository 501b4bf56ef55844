import type { AppState } from '#shared/contracts/apps/refuse-app.ts';
import type { BaseOperation } from '#shared/http/operation.ts';
import type { Permission } from '../domain/permissions.ts';

/** The callers that may use an operation: all, a signed-in account, or operators. */
export type Access = 'public' | 'session' | 'operator';

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

/** An operation as its feature declares it. */
export type Declaration = Omit<Operation, 'method' | 'path' | 'access'> & {
  /** Its method and path, by which the page calls it. */
  readonly call: `${Uppercase<Operation['method']>} /api/${string}`;
  /** Absent: a signed-in account, and operators only below `/api/operator`. */
  readonly access?: 'public';
};

export function operationOf({ call, access, ...rest }: Declaration): Operation {
  const [method, path] = call.split(' ') as [Uppercase<Operation['method']>, string];
  const isOfOperators = path.startsWith('/api/operator/');
  return {
    ...rest,
    method: method.toLowerCase() as Operation['method'],
    path,
    access: access ?? (isOfOperators ? 'operator' : 'session'),
  };
}

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

/** The common members of operations that create something. */
export const CREATION = { isIdempotent: true, status: 201 } as const;
