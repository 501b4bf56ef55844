/** The parts of a JSON Schema (2020-12) that the OpenAPI document uses. */
type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema | boolean>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema | boolean;
  readonly prefixItems?: readonly Schema[];
  readonly maxItems?: number;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

export type OpenApiDocument = {
  readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> };
  readonly paths?: unknown;
};

const HEADER = `// Written by \`npm run build:client\` from the OpenAPI document, which is made of the schemas that validate.
`;

/**
 * TypeScript types of an OpenAPI document: one type per component, and the codes of its problems.
 *
 * @example
 * generateTypes(makeOpenApi('')); // 'export type CheckResult = { … }'
 */
export function generateTypes(document: OpenApiDocument): string {
  const schemas = Object.entries(document.components?.schemas ?? {}) as [string, Schema][];
  const rendered = new Map(schemas.map(([name, schema]) => [name, typeOf(schema)]));
  const types = schemas
    .filter(([name]) => !isRepeated(name, rendered))
    .map(
      ([name, schema]) =>
        `${commentOf(schema)}export type ${name} = ${extensionOf(name, schemas) ?? rendered.get(name)};\n`,
    );
  const codes = [...problemCodesOf(document.paths)].sort().map((code) => JSON.stringify(code));
  const problemCode = `/** The codes of all problems that the API answers with. */\nexport type ProblemCode = ${codes.join(' | ')};\n`;
  const text = [HEADER, ...types, problemCode].join('\n');
  return text.replace(/\b\w+Output\b/g, (name) => (isRepeated(name, rendered) ? withoutSuffix(name) : name));
}

const withoutSuffix = (text: string): string => text.replace(/(\w)Output\b/g, '$1');

/** Whether a schema differs from the one of requests only in that answers may have further
 * members. */
const isRepeated = (name: string, rendered: ReadonlyMap<string, string>): boolean => {
  const type = rendered.get(name);
  return (
    withoutSuffix(name) !== name &&
    type !== undefined &&
    withoutSuffix(type) === rendered.get(withoutSuffix(name))
  );
};

const commentOf = ({ description }: Schema): string =>
  description === undefined ? '' : `/** ${description.replaceAll('*/', '*\\/')} */\n`;

function typeOf(schema: Schema | boolean): string {
  if (schema === true) return 'unknown';
  if (schema === false) return 'never';
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives && !schema.properties) return `(${alternatives.map(typeOf).join(' | ')})`;
  if (Array.isArray(schema.type))
    return `(${schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')})`;
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return typeOfArray(schema);
    case 'object':
      return typeOfObject(schema);
    default:
      return schema.allOf ? schema.allOf.map(typeOf).join(' & ') : 'unknown';
  }
}

const typeOfArray = ({ items, maxItems }: Schema): string =>
  maxItems === 0 ? 'readonly []' : `readonly (${typeOf(items ?? true)})[]`;

/** A member of an object, with its comment. */
function memberOf(
  { properties = {}, required = [] }: Schema,
  name: string,
  isRequired = required.includes(name),
) {
  const property = properties[name] ?? true;
  const comment = typeof property === 'object' ? commentOf(property) : '';
  const type = typeOf(property);
  return `${comment}readonly ${JSON.stringify(name)}${isRequired ? `: ${type}` : `?: ${type} | undefined`};`;
}

/** A comment has a line of its own. */
const objectOf = (members: readonly string[]): string =>
  `{${members[0]?.startsWith('/**') ? '\n' : ' '}${members.join('\n')} }`;

const MEMBERS_SHARED_MIN = 3;

/** An object that has all members of another component, as that one and its further members; of
 * several the one with the most. */
function extensionOf(name: string, schemas: readonly (readonly [string, Schema])[]): string | undefined {
  const objects = schemas
    .filter(([, schema]) => choicesOf(schema).length === 0)
    .map(([of, schema]) => ({
      of,
      members: Object.keys(schema.properties ?? {}).map((each) => memberOf(schema, each)),
    }));
  const place = objects.findIndex(({ of }) => of === name);
  const own = objects[place]?.members ?? [];
  const [base] = objects
    .filter(
      ({ members }, other) => members.length < own.length || (members.length === own.length && other < place),
    )
    .filter(({ members }) => members.length >= MEMBERS_SHARED_MIN)
    .filter(({ members }) => members.every((member) => own.includes(member)))
    .sort((one, other) => other.members.length - one.members.length);
  if (base === undefined) return undefined;
  const further = own.filter((member) => !base.members.includes(member));
  return further.length === 0 ? base.of : `${base.of} & ${objectOf(further)}`;
}

function typeOfObject(schema: Schema): string {
  const { properties, additionalProperties } = schema;
  if (!properties)
    return typeof additionalProperties === 'object'
      ? `Readonly<Record<string, ${typeOf(additionalProperties)}>>`
      : 'Readonly<Record<string, unknown>>';
  const choices = choicesOf(schema);
  const chosen = new Set(choices.flat());
  const own = Object.keys(properties)
    .filter((name) => !chosen.has(name))
    .map((name) => memberOf(schema, name));
  const alternatives = choices.map((names) => {
    const of = (wanted: string) =>
      names.map((name) =>
        name === wanted ? memberOf(schema, name, true) : `readonly ${JSON.stringify(name)}?: never;`,
      );
    return `(${names.map((name) => objectOf(of(name))).join(' | ')})`;
  });
  return [objectOf(own), ...alternatives].join(' & ');
}

/** Members of which exactly one is given:
 * `allOf: [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }]`. */
function choicesOf({ allOf = [], oneOf }: Schema): string[][] {
  return [...allOf, { ...(oneOf ? { oneOf } : {}) }].flatMap(({ oneOf: branches = [] }) => {
    const names = branches.flatMap(({ required, properties }) =>
      required?.length === 1 && !properties ? required : [],
    );
    return names.length > 1 && names.length === branches.length ? [names] : [];
  });
}

/** Every problem schema has an enum of its codes. */
function problemCodesOf(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'application/problem+json') for (const code of codesOf(inner)) found.add(code);
    else problemCodesOf(inner, found);
  }
  return found;
}

const codesOf = (media: unknown): readonly string[] =>
  (media as { schema?: { properties?: { code?: { enum?: readonly string[] } } } }).schema?.properties?.code
    ?.enum ?? [];
