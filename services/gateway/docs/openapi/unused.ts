type Schemas = Record<string, unknown>;

/** Leaves out the schemas that the generator made a second time, for answers, and that nothing refers to. */
export function withoutUnusedOutputs<Document extends { components?: { schemas?: object } }>(
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
