import type { z } from 'zod';
import type { ZodOpenApiHeadersObject } from 'zod-openapi';
import type { ProblemCode } from './problem.ts';
import type { Handle, Route } from './serve-routes.ts';

/** Values of a body that the documentation shows. */
export type Examples = Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;

/** An answer that is not a problem. */
export type Answer = {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Default: `application/json`. */
  readonly mediaType?: string;
  readonly headers?: ZodOpenApiHeadersObject;
  readonly examples?: Examples;
};

/**
 * One operation of a service's API. The server serves it, and the OpenAPI document, the pages of
 * the documentation and the tests are made of it.
 */
export type BaseOperation<Access extends string = string> = {
  readonly method: Route['method'];
  /** `/apps/:clientId`: a name stands for one segment. */
  readonly path: string;
  readonly access: Access;
  readonly summary: string;
  readonly description?: string;
  readonly params?: Readonly<Record<string, z.ZodType>>;
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  readonly bodyExamples?: Examples;
  /** The media type of a body that the handler takes as it arrives. */
  readonly upload?: string;
  /** The media types of a file that is sent as the handler makes it. */
  readonly download?: readonly string[];
  /** Of the only answer, which the summary describes; default: 200, and 204 of one without a body. */
  readonly status?: 200 | 201 | 202 | 204;
  readonly answer?: z.ZodType;
  /** The answers where there are several, or where one needs more than a schema. */
  readonly answers?: Readonly<Partial<Record<200 | 201 | 202 | 204, Answer>>>;
  /** The problems of this operation alone; those of access, body and query are added by rule. */
  readonly codes?: readonly ProblemCode[];
};

export const answerStatusOf = ({ status, answer, download }: BaseOperation): number =>
  status ?? (answer === undefined && download === undefined ? 204 : 200);

/** The routes of a table of operations; each is named by its id in metrics and traces. */
export const routesOf = <Id extends string>(
  operations: Readonly<Record<Id, BaseOperation>>,
  handlerOf: (id: Id) => Handle,
): Route[] =>
  (Object.keys(operations) as Id[]).map((id) => {
    const { method, path } = operations[id];
    return { method, path, name: id, handle: handlerOf(id) };
  });
