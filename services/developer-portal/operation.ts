import type { z } from 'zod';
import type { ProblemCode } from './problem.ts';

/** The callers that may use an operation: everybody, a signed-in account, or operators. */
export type Access = 'public' | 'session' | 'operator';

/** One operation of the portal's API, as the server serves it and the OpenAPI document describes it. */
export type Operation = {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  /** Requires an `Idempotency-Key`; a repeated request creates nothing new. */
  readonly isIdempotent?: true;
  /** Draws from the budget for removals, although its method is not DELETE: see `write-budget.ts`. */
  readonly endsSomething?: true;
  readonly status: 200 | 201 | 202 | 204;
  readonly answer?: z.ZodType;
  /** The problems of this operation alone; `codesOf` adds those of access, body and query. */
  readonly codes: readonly ProblemCode[];
};
