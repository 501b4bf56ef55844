import type { z } from 'zod';
import type { OPERATIONS } from '../../http/operations.ts';

type Operations = typeof OPERATIONS;
type ByCall = {
  [Id in keyof Operations as `${Uppercase<Operations[Id]['method']>} ${Operations[Id]['path']}`]: Operations[Id];
};
type ParamOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
type InputOf<C extends Call, Member extends string> = ByCall[C] extends {
  readonly [M in Member]: infer S extends z.ZodType;
}
  ? z.input<S>
  : undefined;

/** An operation of the portal's API as its table declares it: `GET /api/apps/:clientId`. */
export type Call = keyof ByCall;
export type Read = Extract<Call, `GET ${string}`>;
/** The named parts of a path. */
export type Params<C extends Call> = Readonly<Record<ParamOf<C>, string>>;
/** The parameters of the query; those without a value are not sent. */
export type Query<C extends Call> = {
  readonly [Name in keyof NonNullable<InputOf<C, 'query'>>]?: string | number | undefined;
};
export type Sent<C extends Call> = ([ParamOf<C>] extends [never]
  ? object
  : { readonly params: Params<C> }) & {
  readonly query?: Query<C>;
  /** A blob is sent as it is, with its own type. */
  readonly body?: InputOf<C, 'body'> | Blob;
  readonly idempotencyKey?: string | undefined;
  readonly apiKey?: string;
  readonly timeoutMs?: number;
};
export type Answer<C extends Call> = ByCall[C] extends { readonly answer: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;

export type Account = Answer<'GET /api/session'>['account'];
export type Limits = Account['limits'];
export type App = Answer<'GET /api/apps/:clientId'>;
export type Key = App['keys'][number];
export type AuditEntry = Answer<'GET /api/audit'>[number] &
  Partial<Answer<'GET /api/operator/audit'>['entries'][number]>;
