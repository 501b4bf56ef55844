import type { z } from 'zod';
import { KeyPermission } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeOpenApi } from '../../../services/gateway/docs/openapi.ts';
import { codesOf as operationCodesOf } from '../../../services/gateway/edge/operation.ts';
import { OPERATIONS, type OperationId } from '../../../services/gateway/operations.ts';
import {
  anAdmission,
  anAppWhoseKeyMay,
  anAppWithKey,
  type FakeGateway,
  type FakeOptions,
} from '../fakes/fake-gateway.ts';
import { type OpenApiDocument, validatorOf as validatorIn } from './openapi-validator.ts';

export type Json = Record<string, unknown>;

/** The OpenAPI document that the gateway serves. */
export const document = JSON.parse(JSON.stringify(makeOpenApi(''))) as OpenApiDocument;
/** The path of an operation as the document has it. */
export const documentedPath = (name: OperationName): string =>
  OPERATIONS[name].path.replace(/:(\w+)/g, '{$1}');

export type OperationName = OperationId;

/** A schema of the document as a validator, with resolved references. */
export const validatorOf = (schema: unknown): z.ZodType => validatorIn(document, schema);

/** Validates an answer against the document's schema for its status. */
export async function expectDocumented(name: OperationName, response: Response): Promise<Json> {
  const documented =
    document.paths[documentedPath(name)]?.[OPERATIONS[name].method]?.responses[String(response.status)];
  expect([name, response.status, documented !== undefined]).toEqual([name, response.status, true]);
  const headers = (documented?.['headers'] ?? {}) as Record<string, { required?: boolean; schema: Json }>;
  for (const [header, { required, schema }] of Object.entries(headers)) {
    const value = response.headers.get(header);
    if (required) expect([header, value]).toEqual([header, expect.any(String)]);
    if (value !== null) expect(validatorOf(schema).safeParse(value).error).toBeUndefined();
  }
  const content = documented?.['content'] as Record<string, { schema: Json }> | undefined;
  if (!content) {
    expect(await response.text()).toBe('');
    return {};
  }
  const type = response.headers.get('content-type') ?? '';
  expect(Object.keys(content)).toContain(type);
  const body = (await response.json()) as Json;
  expect(validatorOf(content[type]?.schema).safeParse(body).error).toBeUndefined();
  return body;
}

/** Problems of connections without a complete request: `services/gateway/edge/server.test.ts`
 * produces these. */
const ON_THE_SOCKET = ['malformed-request', 'request-timeout', 'headers-too-large'];

/** The problems that a request to an operation can get. */
const codesOf = (name: OperationName): string[] =>
  [...new Set(operationCodesOf(OPERATIONS[name]))].filter((code) => !ON_THE_SOCKET.includes(code));

type Start = (options?: FakeOptions) => Promise<FakeGateway>;
/** Sends a successful request. */
export type Ask = (gateway: FakeGateway, headers?: Record<string, string>) => Promise<Response>;

/** How to produce each problem that all operations have. */
const COMMON_PROBLEMS: Record<string, (start: Start, ask: Ask, name: OperationName) => Promise<Response>> = {
  'api-key-missing': async (start, ask) => ask(await start(), { 'x-api-key': '' }),
  'api-key-invalid': async (start, ask) => ask(await start(), { 'x-api-key': 'x' }),
  'scope-not-approved': async (start, ask) => ask(await start({ app: anAppWithKey({ scope: 'rejected' }) })),
  'client-app-suspended': async (start, ask) => ask(await start({ app: anAppWithKey({ suspended: true }) })),
  'permission-missing': async (start, ask, name) => {
    const permissions = KeyPermission.options.filter((one) => one !== OPERATIONS[name].access);
    return ask(await start({ app: anAppWhoseKeyMay(permissions) }));
  },
  'rate-limited': async (start, ask) =>
    ask(await start({ admit: async (request) => anAdmission(request, { outcome: 'rate-limited' }) })),
  internal: async (start, ask) => ask(await start({ findKey: () => Promise.reject(new Error('a bug')) })),
  'dependency-unavailable': async (start, ask) =>
    ask(await start({ admit: () => Promise.reject(new ServiceError('store-unavailable', 'away')) })),
  overloaded: async (start, ask) => ask(await start({ inFlightMax: 0 })),
};

/** Produces every documented problem of some operations, and tests that it is as documented. */
export function testProblems<Name extends OperationName>(
  start: Start,
  asks: Readonly<Record<Name, Ask>>,
  problems: Readonly<Record<Name, Readonly<Record<string, () => Promise<Response>>>>>,
): void {
  const cases = (Object.keys(asks) as Name[]).flatMap((name) =>
    codesOf(name).map((code) => [name, code] as const),
  );
  test.each(cases)('the document describes %s that ends in %s', async (name, code) => {
    const response = await (problems[name][code]?.() ?? COMMON_PROBLEMS[code]?.(start, asks[name], name));
    if (!response) throw new Error(`no test produces the problem ${code} of ${name}`);
    expect((await expectDocumented(name, response))['code']).toBe(code);
  });
}
