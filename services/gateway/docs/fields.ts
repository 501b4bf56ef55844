/** The parts of a JSON schema (as OpenAPI 3.1 uses it) that the tables show. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly additionalProperties?: boolean | Schema;
};

export type Field = {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
};

const nameOfRef = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** The type of a value in a few words, a component by its name. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOfRef(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(' | ');
  if (schema.items) return `${typeOf(schema.items)}[]`;
  if (typeof schema.additionalProperties === 'object')
    return `{ [key]: ${typeOf(schema.additionalProperties)} }`;
  return typeof schema.type === 'string' ? schema.type : (schema.type?.join(' | ') ?? 'any');
}

function boundsOf(schema: Schema): string {
  const range = (unit: string, min: number | undefined, max: number | undefined): string[] => {
    if (min !== undefined && max !== undefined && max < Number.MAX_SAFE_INTEGER)
      return [`${min} to ${max}${unit}.`];
    if (max !== undefined && max < Number.MAX_SAFE_INTEGER) return [`At most ${max}${unit}.`];
    return [];
  };
  return [
    ...range('', schema.minimum, schema.maximum),
    ...range(' characters', schema.minLength, schema.maxLength),
    ...range(' entries', schema.minItems, schema.maxItems),
    ...(schema.default === undefined ? [] : [`Default \`${JSON.stringify(schema.default)}\`.`]),
  ].join(' ');
}

/**
 * The members of an object; those of nested objects follow their parent with a longer name.
 * Components are not followed: each has a table of its own.
 *
 * @example
 * fieldsOf({ type: 'object', properties: { id: { type: 'string' } }, required: ['id'] });
 * // [{ name: 'id', type: 'string', isRequired: true, description: '' }]
 */
export function fieldsOf(schema: Schema, prefix = ''): Field[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const full = `${prefix}${name}`;
    const nested = member.items?.properties
      ? fieldsOf(member.items, `${full}[].`)
      : fieldsOf(member, `${full}.`);
    const description = [member.description, boundsOf(member)].filter(Boolean).join(' ');
    return [{ name: full, type: typeOf(member), isRequired: required.has(name), description }, ...nested];
  });
}
