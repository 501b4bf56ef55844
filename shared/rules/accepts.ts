import { z } from 'zod';

/** Whether a schema surely accepts a value of `JSON.parse`, unchanged. `false` means nothing. */
type Accepts = (value: unknown) => boolean;

const known = new Map<z.core.$ZodType, Accepts>();

/**
 * Makes a test of a schema that finds no faults and copies nothing. Most bodies pass it and skip the
 * schema, which takes several times as long.
 */
export function acceptsBy(schema: z.core.$ZodType): Accepts {
  const made = known.get(schema);
  if (made) return made;
  // Before its parts are made: a rule may hold rules.
  known.set(schema, (value) => accepts(value));
  const accepts = make(schema);
  known.set(schema, accepts);
  return accepts;
}

function make(schema: z.core.$ZodType): Accepts {
  const { checks = [] } = schema._zod.def;
  if (schema instanceof z.core.$ZodArray && checks.every(isOfLength)) return ofArray(schema._zod.def);
  if (schema instanceof z.core.$ZodString && !(schema instanceof z.core.$ZodStringFormat))
    return ofText(schema._zod.def);
  // A check of several members or entries, or of one choice, is left to the schema.
  if (checks.length === 0) {
    if (schema instanceof z.core.$ZodOptional) return acceptsBy(schema._zod.def.innerType);
    if (schema instanceof z.core.$ZodDiscriminatedUnion) return ofUnion(schema._zod.def);
    if (schema instanceof z.core.$ZodObject) return ofObject(schema._zod.def.shape);
    const { values } = schema._zod;
    if (values) return (value) => values.has(value as z.core.util.Primitive);
  }
  return (value) => {
    if (typeof value === 'object') return false;
    const result = schema._zod.run({ value, issues: [] }, { async: false });
    return !(result instanceof Promise) && result.issues.length === 0 && result.value === value;
  };
}

const isOfLength = ({ _zod }: z.core.$ZodCheck<never>): boolean =>
  _zod.def.check === 'min_length' || _zod.def.check === 'max_length';

function passes(value: unknown, checks: readonly z.core.$ZodCheck<never>[]): boolean {
  const payload: z.core.ParsePayload<never> = { value: value as never, issues: [] };
  for (const check of checks) void check._zod.check(payload);
  return payload.issues.length === 0 && payload.value === value;
}

const ofText =
  ({ checks = [] }: z.core.$ZodStringDef): Accepts =>
  (value) =>
    typeof value === 'string' && (checks.length === 0 || passes(value, checks));

function ofArray({ element, checks = [] }: z.core.$ZodArrayDef): Accepts {
  const acceptsEntry = acceptsBy(element);
  // The length first, as the schema does: a body has room for 45 000 addresses, and each costs a hash.
  return (value) => Array.isArray(value) && passes(value, checks) && value.every(acceptsEntry);
}

function ofObject(shape: z.core.$ZodShape): Accepts {
  const members = new Map(Object.entries(shape).map(([name, member]) => [name, acceptsBy(member)]));
  const required = Object.keys(shape).filter((name) => !(shape[name] instanceof z.core.$ZodOptional));
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    for (const name of required) if (!Object.hasOwn(value, name)) return false;
    for (const name of Object.keys(value))
      if (!members.get(name)?.((value as Readonly<Record<string, unknown>>)[name])) return false;
    return true;
  };
}

function ofUnion({ options, discriminator }: z.core.$ZodDiscriminatedUnionDef): Accepts {
  const byType = new Map<unknown, Accepts>();
  for (const option of options)
    for (const type of option._zod.propValues?.[discriminator] ?? []) byType.set(type, acceptsBy(option));
  return (value) =>
    byType.get((value as Readonly<Record<string, unknown>> | null)?.[discriminator])?.(value) ?? false;
}
