import { type Field, fieldsOf, type Schema, typeOf } from './fields.ts';
import {
  anchorOf,
  codeBlock,
  escapeHtml,
  type RenderedPage,
  type Section,
  sampleGroup,
  TABLE_CLOSE,
  TABLE_OPEN,
} from './markdown.ts';
import { type SampleOptions, samplesOf } from './samples.ts';

type Example = { readonly summary?: string; readonly value?: unknown };
type Content = Readonly<
  Record<string, { readonly schema?: Schema; readonly examples?: Readonly<Record<string, Example>> }>
>;
type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
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

/** Plain text with `code` in backticks. */
const prose = (text = ''): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = headings.map((heading) => `<th scope="col">${heading}</th>`).join('');
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n');
  return `${TABLE_OPEN}<thead><tr>${head}</tr></thead><tbody>${body}</tbody>${TABLE_CLOSE}`;
}

const fieldTable = (fields: readonly Field[]): string =>
  fields.length === 0
    ? ''
    : table(
        ['Member', 'Type', 'Meaning'],
        fields.map(({ name, type, isRequired, description }) => [
          `<code>${escapeHtml(name)}</code>${isRequired ? ' <b class="required">required</b>' : ''}`,
          `<code>${escapeHtml(type)}</code>`,
          prose(description),
        ]),
      );

const examplesOf = (content: Content | undefined): readonly Example[] =>
  Object.values(content ?? {}).flatMap(({ examples }) => Object.values(examples ?? {}));

function operationHtml(method: string, path: string, operation: Operation, options: SampleOptions): string {
  const title = operation.summary ?? `${method.toUpperCase()} ${path}`;
  const content = operation.requestBody?.content;
  const [body, ...others] = examplesOf(content);
  const request = {
    method: method.toUpperCase(),
    path,
    ...(body ? { body: body.value } : {}),
    ...(operation.security?.length === 0 ? { isPublic: true } : {}),
  };
  const samples = samplesOf(request, options).map(({ name, language, code }) => ({
    name,
    html: codeBlock(code, language),
  }));
  const schema = Object.values(content ?? {})[0]?.schema;
  const permission = operation.security?.[0]?.apiKey?.[0];
  const parameters = (operation.parameters ?? []).map((parameter) => [
    `<code>${escapeHtml(parameter.name)}</code>${parameter.required ? ' <b class="required">required</b>' : ''}`,
    parameter.in,
    prose(parameter.description ?? parameter.schema?.description),
  ]);
  const answers = Object.entries(operation.responses ?? {}).map(
    ([status, { description, content: answer }]) => [
      `<code>${status}</code>`,
      `${prose(description)}${examplesOf(answer)
        .map(({ value }) => codeBlock(JSON.stringify(value, null, 2), 'json'))
        .join('')}`,
    ],
  );
  return [
    `<h2 id="${anchorOf(title)}">${prose(title)}</h2>`,
    `<p><code class="method">${method.toUpperCase()}</code> <code>${escapeHtml(path)}</code></p>`,
    operation.description ? `<p>${prose(operation.description)}</p>` : '',
    permission ? `<p>The API key needs the permission <code>${escapeHtml(permission)}</code>.</p>` : '',
    sampleGroup(samples),
    parameters.length > 0 ? `<h3>Parameters</h3>${table(['Name', 'In', 'Meaning'], parameters)}` : '',
    schema
      ? `<h3>Body</h3><p><code>${escapeHtml(typeOf(schema))}</code></p>${fieldTable(fieldsOf(schema))}`
      : '',
    ...others.map(
      ({ summary, value }) =>
        `<h3>${prose(summary ?? 'Example')}</h3>${codeBlock(JSON.stringify(value, null, 2), 'json')}`,
    ),
    `<h3>Answers</h3>${table(['Status', 'Meaning'], answers)}`,
  ].join('\n');
}

function schemaHtml(name: string, schema: Schema): string {
  const choices = schema.oneOf ?? schema.anyOf;
  const description = schema.description ? `<p>${prose(schema.description)}</p>` : '';
  const tables = choices
    ? choices
        .map((choice) => `<h4><code>${escapeHtml(typeOf(choice))}</code></h4>${fieldTable(fieldsOf(choice))}`)
        .join('\n')
    : fieldTable(fieldsOf(schema));
  return `<h3 id="schema-${escapeHtml(name)}">${escapeHtml(name)}</h3>${description}${tables}`;
}

/**
 * The OpenAPI document as a page: every operation with samples, members, answers and examples, then every schema.
 *
 * @example
 * const { html } = renderReference(makeOpenApi(''), { baseUrl: 'http://localhost:8080', apiKey: 'rck_live_…' });
 */
export function renderReference(document: OpenApi, options: SampleOptions): RenderedPage {
  const found = (paths: OpenApi['paths']) =>
    Object.entries(paths ?? {}).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const operation = (item as Partial<Record<string, Operation>>)[method];
        return operation ? [{ path, method, operation }] : [];
      }),
    );
  const operations = found(document.paths);
  const webhooks = found(document.webhooks);
  const schemas = Object.entries(document.components?.schemas ?? {}) as [string, Schema][];
  const sections: Section[] = operations.map(({ path, method, operation }) => {
    const heading = operation.summary ?? `${method.toUpperCase()} ${path}`;
    return { heading, anchor: anchorOf(heading), text: `${path} ${operation.description ?? ''}` };
  });
  const html = [
    '<h1 id="reference">Reference</h1>',
    '<p>Generated from the schemas that validate requests. For tools: <a href="../openapi.json">openapi.json</a>.</p>',
    ...operations.map(({ path, method, operation }) => operationHtml(method, path, operation, options)),
    webhooks.length > 0 ? '<h2 id="messages">Webhook messages</h2>' : '',
    ...webhooks.map(({ path, operation }) => {
      const content = operation.requestBody?.content;
      const examples = examplesOf(content).map(({ value }) =>
        codeBlock(JSON.stringify(value, null, 2), 'json'),
      );
      const schema = Object.values(content ?? {})[0]?.schema;
      return `<h3>${prose(path)}</h3><p>${prose(operation.description ?? operation.summary)}</p>${schema ? fieldTable(fieldsOf(schema)) : ''}${examples.join('')}`;
    }),
    '<h2 id="schemas">Schemas</h2>',
    ...schemas.map(([name, schema]) => schemaHtml(name, schema)),
  ].join('\n');
  return { html, sections };
}
