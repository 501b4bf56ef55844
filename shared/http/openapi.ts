import { z } from 'zod';
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiHeadersObject,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import packageJson from '../../package.json' with { type: 'json' };
import { type Answer, answerStatusOf, type BaseOperation } from './operation.ts';
import { PROBLEMS, type ProblemCode, typeOf } from './problem.ts';

/** One fault of a request, as `errors` of a problem lists it. */
export const FaultBody = z
  .object({
    pointer: z
      .string()
      .meta({ description: 'RFC 6901, into the body as it was sent; empty for the body as a whole.' }),
    code: z.string(),
    detail: z.string(),
  })
  .meta({ id: 'Fault' });

/** The rules by which a service adds to what its table says of an operation. */
type Rules<Operation> = {
  readonly codesOf: (operation: Operation) => readonly ProblemCode[];
  /** Absent where the document's own holds. */
  readonly securityOf: (operation: Operation) => readonly Record<string, string[]>[] | undefined;
  readonly headersOf?: (operation: Operation) => Readonly<Record<string, z.ZodType>>;
  /** A name in a path that the operation does not describe. */
  readonly pathParam: z.ZodType;
  /** The members that a problem has beside those of RFC 9457, and the headers, by status. */
  readonly problemMembersOf: (status: number, operation: Operation) => z.ZodRawShape;
  readonly problemHeadersOf?: (status: number, operation: Operation) => ZodOpenApiHeadersObject;
  /** Default: the status of the code. */
  readonly statusOf?: (code: ProblemCode, operation: Operation) => number;
};

/**
 * The OpenAPI 3.1 document of a table of operations, made of the schemas that validate requests and
 * answers.
 *
 * @param frame the document without its operations; its version and licence are those of the package
 */
export function describeOperations<Operation extends BaseOperation>(
  operations: Readonly<Record<string, Operation>>,
  rules: Rules<Operation>,
  {
    info,
    ...frame
  }: Omit<ZodOpenApiObject, 'openapi' | 'paths' | 'info'> & {
    readonly info: { readonly title: string; readonly description: string };
  },
) {
  const { version, license } = packageJson;
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {};
  for (const [operationId, operation] of Object.entries(operations)) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method]: describe(operationId, operation, rules) };
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: { ...info, version, license: { name: license, identifier: license } },
      ...frame,
      paths,
    },
    { override: openAnswers },
  );
  return withoutUnusedOutputs(document);
}

function describe<Operation extends BaseOperation>(
  operationId: string,
  operation: Operation,
  rules: Rules<Operation>,
): ZodOpenApiOperationObject {
  const { summary, description, query, body, bodyExamples: examples, upload } = operation;
  const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const params = names.map((name) => [name, operation.params?.[name] ?? rules.pathParam]);
  const headers = { ...operation.headers, ...rules.headersOf?.(operation) };
  const security = rules.securityOf(operation);
  const requestParams = {
    ...(names.length > 0 && { path: z.object(Object.fromEntries(params)) }),
    ...(query instanceof z.ZodObject && { query }),
    ...(Object.keys(headers).length > 0 && { header: z.object(headers) }),
  };
  const content = {
    ...(body && { 'application/json': { schema: body, ...(examples && { examples }) } }),
    ...(upload && { [upload]: { schema: z.string() } }),
  };
  return {
    operationId,
    summary,
    ...(description && { description }),
    ...(security && { security: [...security] }),
    ...(Object.keys(requestParams).length > 0 && { requestParams }),
    ...(Object.keys(content).length > 0 && { requestBody: { required: !isOptional(body), content } }),
    responses: { ...answersOf(operation), ...problemsOf(operation, rules) },
  };
}

const isOptional = (body: z.ZodType | undefined): boolean => body?.safeParse(undefined).success ?? false;

function answersOf(operation: BaseOperation) {
  const { summary, answer, download = [] } = operation;
  const answers = operation.answers ?? {
    [answerStatusOf(operation)]: { description: summary, ...(answer && { schema: answer }) },
  };
  return Object.fromEntries(
    Object.entries(answers).map(([code, found]: [string, Answer]) => {
      const { description, schema, mediaType = 'application/json', headers, examples } = found;
      const content = {
        ...(schema && { [mediaType]: { schema, ...(examples && { examples }) } }),
        ...Object.fromEntries(download.map((type) => [type, { schema: z.string() }])),
      };
      return [
        code,
        { description, ...(headers && { headers }), ...(Object.keys(content).length > 0 && { content }) },
      ];
    }),
  );
}

function problemsOf<Operation>(operation: Operation, rules: Rules<Operation>) {
  const { codesOf, problemMembersOf, problemHeadersOf } = rules;
  const statusOf = rules.statusOf ?? ((code: ProblemCode): number => PROBLEMS[code].status);
  const byStatus = Map.groupBy(new Set(codesOf(operation)), (code) => statusOf(code, operation));
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => {
      const schema = problemSchema(list, status, problemMembersOf(status, operation));
      const description = list.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' ');
      const headers = problemHeadersOf && { headers: problemHeadersOf(status, operation) };
      return [status, { description, ...headers, content: { 'application/problem+json': { schema } } }];
    }),
  );
}

/** RFC 9457, of problems with one status. */
function problemSchema(codes: readonly ProblemCode[], status: number, members: z.ZodRawShape) {
  const [first = 'internal', ...rest] = codes;
  return z.object({
    type: z.enum([...new Set(codes.map(typeOf))]),
    title: z.string(),
    status: z.literal(status),
    detail: z.string(),
    instance: z.string(),
    code: z.enum([first, ...rest]),
    ...members,
  });
}

/** Answers may gain members, so no answer's schema is closed. */
const openAnswers: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, io }) => {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};

type Schemas = Record<string, unknown>;

/** Leaves out the schemas that the generator made a second time, for answers, and that nothing
 * refers to. */
function withoutUnusedOutputs<Document extends { components?: { schemas?: object } }>(
  document: Document,
): Document {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const isSecond = (name: string) => name.endsWith('Output') && name.slice(0, -'Output'.length) in schemas;
  const kept = new Set(Object.keys(schemas).filter((name) => !isSecond(name)));
  const roots: unknown = { ...document, components: {} };
  for (const found of [roots, ...[...kept].map((name) => schemas[name])])
    keepReferenced(found, schemas, kept);
  const named = Object.fromEntries(Object.entries(schemas).filter(([name]) => kept.has(name)));
  return { ...document, components: { ...document.components, schemas: named } };
}

function keepReferenced(value: unknown, schemas: Schemas, kept: Set<string>): void {
  for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (kept.has(name)) continue;
    kept.add(name);
    keepReferenced(schemas[name], schemas, kept);
  }
}
