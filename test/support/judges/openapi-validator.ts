import { z } from 'zod';

type Json = Readonly<Record<string, unknown>>;

/** The parts of an OpenAPI document that tests need. */
export type OpenApiDocument = {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Json>> }>>>
  >;
  readonly components: { readonly schemas: Json };
};

const inline = (value: unknown): string =>
  JSON.stringify(value).replaceAll('#/components/schemas/', '#/$defs/');

/** By document, the definitions and the validators that were made. */
const known = new WeakMap<object, { readonly $defs: Json; readonly made: Map<string, z.ZodType> }>();

/** A schema of the document as a validator, with resolved references; made once. */
export function validatorOf(document: Pick<OpenApiDocument, 'components'>, schema: unknown): z.ZodType {
  const of = known.get(document) ?? {
    $defs: JSON.parse(inline(document.components.schemas)),
    made: new Map(),
  };
  known.set(document, of);
  const text = inline(schema);
  const jsonSchema = { ...JSON.parse(text), $defs: of.$defs } as Parameters<typeof z.fromJSONSchema>[0];
  const validator = of.made.get(text) ?? z.fromJSONSchema(jsonSchema);
  of.made.set(text, validator);
  return validator;
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
