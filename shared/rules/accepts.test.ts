import { z } from 'zod';
import { acceptsBy } from './accepts.ts';

const never = () => false;

describe('the test that is made of a schema', () => {
  it('accepts what the schema accepts', () => {
    const schema = z.strictObject({
      list: z.array(z.string().min(1)).max(2),
      choice: z.enum(['a', 'b']).optional(),
      count: z.number().int().optional(),
    });
    expect(acceptsBy(schema)({ list: ['x', 'y'], choice: 'b', count: 1 })).toBe(true);
    for (const wrong of [{ list: [''] }, { list: ['x', 'y', 'z'] }, { list: [], choice: 'c' }, { count: 1 }])
      expect(acceptsBy(schema)(wrong)).toBe(false);
  });

  it.each<[string, z.ZodType, unknown]>([
    ['an object', z.strictObject({ a: z.string() }), { a: 'x' }],
    ['a list', z.array(z.string()), ['x']],
    ['a union', z.discriminatedUnion('type', [z.strictObject({ type: z.literal('a') })]), { type: 'a' }],
    ['a choice', z.enum(['a']), 'a'],
    ['an optional value', z.string().optional(), 'a'],
  ])('accepts %s, but not one that a further check refuses', (_, schema, value) => {
    expect(acceptsBy(schema)(value)).toBe(true);
    expect(acceptsBy(schema.refine(never))(value)).toBe(false);
  });

  it('looks at no entry of a list that is too long', () => {
    const look = jest.fn(() => true);
    const schema = z.array(z.string().refine(look)).max(2);
    expect(acceptsBy(schema)(['a', 'b', 'c'])).toBe(false);
    expect(look).not.toHaveBeenCalled();
    expect(acceptsBy(schema)(['a', 'b'])).toBe(true);
  });

  it.each<[string, z.ZodType, unknown]>([
    ['trims', z.string().trim(), ' x'],
    ['converts', z.coerce.number(), '5'],
    ['transforms', z.string().transform((text) => `${text}!`), 'x'],
    ['completes', z.strictObject({ a: z.string().default('x') }), {}],
    ['cuts', z.object({ a: z.string() }), { a: 'x', b: 1 }],
  ])('leaves a value to a schema that %s it', (_, schema, value) => {
    expect(schema.safeParse(value).success).toBe(true);
    expect(acceptsBy(schema)(value)).toBe(false);
  });
});
