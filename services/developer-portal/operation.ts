import type { z } from 'zod';
import type { ProblemCode } from './problem.ts';

/** Who may do it: anybody, whoever is signed in, or operators. */
export type Access = 'public' | 'session' | 'operator';

/** One operation of the portal's API, as the server serves it and the OpenAPI document describes it. */
export type Operation = {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly body?: z.ZodType;
  readonly query?: z.ZodType;
  /** Requires an `Idempotency-Key`: what it makes is made once. */
  readonly isOnce?: true;
  /** Ends something, although it is no `delete`: see `write-budget.ts`. */
  readonly endsSomething?: true;
  readonly status: 200 | 201 | 202 | 204;
  readonly answer?: z.ZodType;
  /** Beside those that access, body and query bring along. */
  readonly codes: readonly ProblemCode[];
};
