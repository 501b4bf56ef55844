import { fieldsOf, type Schema, typeOf } from './fields.ts';
import { tableOf } from './markdown.ts';
import { filledPath, type SampleOptions, samplesOf } from './samples.ts';

type Example = { readonly summary?: string; readonly value?: unknown };
type Content = Readonly<
  Record<string, { readonly schema?: Schema; readonly examples?: Readonly<Record<string, Example>> }>
>;
type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema & { readonly example?: string };
};
type Operation = {
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly { readonly apiKey?: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Content };
  readonly responses?: Readonly<
    Record<string, { readonly description?: string; readonly content?: Content }>
  >;
};
/** The parts of an OpenAPI document that the reference shows. */
export type OpenApi = {
  readonly paths?: Readonly<Record<string, object>> | undefined;
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> | undefined } | undefined;
  readonly webhooks?: Readonly<Record<string, object>> | undefined;
};

const METHODS = ['get', 'post', 'put', 'delete'] as const;

const code = (text: string): string => `\`${text}\``;
export const fence = (content: string, info: string): string => `\`\`\`${info}\n${content}\n\`\`\``;
/** A value in JSON; a text is lines of JSON. */
const json = (value: unknown, role: string): string =>
  fence(typeof value === 'string' ? value.trimEnd() : JSON.stringify(value, null, 2), `json ${role}`);
const nameOf = (name: string, isRequired = false): string =>
  `${code(name)}${isRequired ? ' **required**' : ''}`;

const membersOf = (schema: Schema): string =>
  tableOf(
    ['Member', 'Type', 'Meaning'],
    fieldsOf(schema).map(({ name, type, isRequired, description }) => [
      nameOf(name, isRequired),
      code(type),
      description,
    ]),
  );

const contentsOf = (content: Content = {}) => {
  const [schema] = Object.values(content).map((media) => media.schema);
  return {
    schema,
    examples: Object.values(content).flatMap(({ examples }) => Object.values(examples ?? {})),
  };
};

/** The values of a sample for the names of a path; ids that the service gives have no example. */
const examplesOf = (parameters: readonly Parameter[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    parameters.flatMap(({ in: place, name, schema }) =>
      place === 'path' && schema?.example !== undefined && !name.endsWith('Id')
        ? [[name, schema.example]]
        : [],
    ),
  );

function describeOperation({ path, method, operation }: Found, options: SampleOptions): string[] {
  const { schema, examples } = contentsOf(operation.requestBody?.content);
  const [body, ...others] = examples;
  const parameters = operation.parameters ?? [];
  const request = {
    method: method.toUpperCase(),
    path: filledPath(path, examplesOf(parameters)),
    ...(body ? { body: body.value } : {}),
    ...(operation.security?.length === 0 ? { isPublic: true } : {}),
  };
  const permission = operation.security?.[0]?.apiKey?.[0];
  const answers = Object.entries(operation.responses ?? {});
  return [
    `## ${operation.summary}`,
    `${code(request.method)} ${code(path)}`,
    operation.description ?? '',
    permission ? `The API key needs the permission ${code(permission)}.` : '',
    ...samplesOf(request, options).map((sample) =>
      fence(sample.code, `${sample.language} tab=${sample.name}`),
    ),
    tableOf(
      ['Parameter', 'In', 'Meaning'],
      parameters.map((parameter) => [
        nameOf(parameter.name, parameter.required),
        parameter.in,
        parameter.description ?? parameter.schema?.description ?? '',
      ]),
    ),
    ...(schema ? [`The body is ${code(typeOf(schema))}.`, membersOf(schema)] : []),
    ...others.flatMap(({ summary = 'Another body', value }) => [
      `${summary}:`,
      json(value, `body of ${request.method} ${request.path}`),
    ]),
    tableOf(
      ['Answer', 'Meaning'],
      answers.map(([status, { description = '' }]) => [code(status), description]),
    ),
    ...answers.flatMap(([status, { content }]) => {
      const { schema, examples } = contentsOf(content);
      const role = schema ? typeOf(schema) : 'an answer';
      return examples.flatMap(({ value }) => [`${code(status)}, for example:`, json(value, role)]);
    }),
  ];
}

function describeMessage({ operation }: Found): string[] {
  const { schema, examples } = contentsOf(operation.requestBody?.content);
  return [
    `### ${operation.summary}`,
    operation.description ?? '',
    schema ? membersOf(schema) : '',
    ...examples.map(({ value }) => json(value, schema ? typeOf(schema) : 'a message')),
  ];
}

const describeSchema = ([name, schema]: readonly [string, Schema]): string[] => [
  `### ${name}`,
  schema.description ?? '',
  ...((schema.oneOf ?? schema.anyOf)?.flatMap((choice) => [code(typeOf(choice)), membersOf(choice)]) ?? [
    membersOf(schema),
  ]),
];

type Found = { readonly path: string; readonly method: string; readonly operation: Operation };

const operationsOf = (paths: OpenApi['paths']): Found[] =>
  Object.entries(paths ?? {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = (item as Partial<Record<string, Operation>>)[method];
      return operation ? [{ path, method, operation }] : [];
    }),
  );

/**
 * The OpenAPI document as Markdown: every operation with samples, members, answers and examples, then
 * the messages to receivers, then every schema.
 */
export const describeApi = (document: OpenApi, options: SampleOptions): string =>
  [
    ...operationsOf(document.paths).flatMap((found) => describeOperation(found, options)),
    '## Webhook messages',
    ...operationsOf(document.webhooks).flatMap(describeMessage),
    '## Schemas',
    ...(Object.entries(document.components?.schemas ?? {}) as [string, Schema][]).flatMap(describeSchema),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
