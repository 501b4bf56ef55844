import { z } from 'zod';

type Json = Readonly<Record<string, unknown>>;

/** The parts of an OpenAPI document that tests need. */
export type OpenApiDocument = {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Json>> }>>>
  >;
  readonly components: { readonly schemas: Json };
};

/** A schema of the document as a validator, with resolved references. */
function validatorOf({ components }: Pick<OpenApiDocument, 'components'>, schema: unknown): z.ZodType {
  const inline = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value).replaceAll('#/components/schemas/', '#/$defs/'));
  const jsonSchema = { ...(inline(schema) as Json), $defs: inline(components.schemas) };
  return z.fromJSONSchema(jsonSchema as Parameters<typeof z.fromJSONSchema>[0]);
}

/**
 * The faults of an answer by the document: its path, status and media type must be documented, and
 * its body must match the schema. Empty for a documented answer.
 */
export function faultOf(
  document: OpenApiDocument,
  answer: {
    readonly method: string;
    readonly path: string;
    readonly status: number;
    readonly type: string | null;
    readonly body: unknown;
  },
): string | undefined {
  const name = `${answer.method} ${answer.path}: ${answer.status}`;
  const path = Object.keys(document.paths)
    // `/deliveries/resend-failed` is matched before `/deliveries/{requestId}`.
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .find((template) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(answer.path));
  const documented = document.paths[path ?? '']?.[answer.method]?.responses[String(answer.status)];
  if (documented === undefined) return `${name} is not documented`;
  const content = documented['content'] as Readonly<Record<string, { schema: Json }>> | undefined;
  if (content === undefined) return answer.body === undefined ? undefined : `${name} has a body`;
  const type = (answer.type ?? '').split(';')[0] ?? '';
  const schema = content[type]?.schema;
  if (schema === undefined) return `${name} is of type ${type}`;
  const { error } = validatorOf(document, schema).safeParse(answer.body);
  return error && `${name}: ${z.prettifyError(error)}`;
}
