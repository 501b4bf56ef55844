import { generateTypes } from './generate-types.ts';

/** The type of one schema, on one line. */
const typeOf = (schema: object): string =>
  (
    /export type Thing = (.*?);\n\n/s.exec(
      generateTypes({ components: { schemas: { Thing: schema } } }),
    )?.[1] ?? ''
  )
    .replace(/\s+/g, ' ')
    .trim();

test.each<[string, object, string]>([
  ['a text', { type: 'string' }, 'string'],
  ['a choice', { enum: ['a', 'b'] }, '"a" | "b"'],
  ['a constant', { type: 'string', const: 'a' }, '"a"'],
  ['a list', { type: 'array', items: { type: 'integer' } }, 'readonly (number)[]'],
  ['a list that is empty', { type: 'array', items: { not: {} }, maxItems: 0 }, 'readonly []'],
  [
    'a record',
    { type: 'object', additionalProperties: { type: 'boolean' } },
    'Readonly<Record<string, boolean>>',
  ],
  ['several types', { type: ['string', 'null'] }, '(string | null)'],
  [
    'alternatives',
    { oneOf: [{ $ref: '#/components/schemas/A' }, { $ref: '#/components/schemas/B' }] },
    '(A | B)',
  ],
  [
    'an object',
    { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } }, required: ['a'] },
    '{ readonly "a": string; readonly "b"?: number | undefined; }',
  ],
  [
    'members of which exactly one is given',
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      allOf: [{ oneOf: [{ required: ['a'] }, { required: ['b'] }] }],
    },
    '{ } & ({ readonly "a": string; readonly "b"?: never; } | { readonly "a"?: never; readonly "b": number; })',
  ],
])('%s becomes its type', (_name, schema, type) => {
  expect(typeOf(schema)).toBe(type);
});

test('the codes of problems are collected from all answers', () => {
  const answer = (...codes: string[]) => ({
    content: { 'application/problem+json': { schema: { properties: { code: { enum: codes } } } } },
  });
  const paths = { '/a': { get: { responses: { 404: answer('b'), 422: answer('c', 'a') } } } };
  expect(generateTypes({ paths })).toContain('export type ProblemCode = "a" | "b" | "c";');
});
