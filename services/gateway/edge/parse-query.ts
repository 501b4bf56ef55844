import type { Request } from 'express';
import { z } from 'zod';
import { invalidBody } from '#shared/http/problem.ts';

const PAGE_COUNT_MAX = 200;
const PAGE_COUNT_DEFAULT = 50;

const DIGITS = /^[0-9]{1,16}$/;

/**
 * The query of a request, by the schema of its operation. Of a repeated parameter the first counts;
 * others are ignored.
 *
 * @throws Problem `validation-failed` with every fault, naming the parameters
 * @example
 * parseQuery({ originalUrl: '/access-control/watches?limit=10' }, LIST_QUERY); // { limit: 10 }
 */
export function parseQuery<Query extends z.ZodObject>(
  { originalUrl }: Pick<Request, 'originalUrl'>,
  query: Query,
): z.output<Query> {
  const given = new URLSearchParams(originalUrl.replace(/^[^?]*/, ''));
  const takesNumber = (name: string, number: number): boolean | undefined =>
    query.shape[name]?.safeParse(number).success;
  const values = Object.keys(query.shape).flatMap((name) => {
    const text = given.get(name);
    if (text === null) return [];
    return [[name, DIGITS.test(text) && takesNumber(name, Number(text)) ? Number(text) : text] as const];
  });
  const parsed = query.safeParse(Object.fromEntries(values));
  if (parsed.success) return parsed.data;
  throw invalidBody(
    parsed.error.issues.map(({ path, message }) => ({
      pointer: '',
      code: takesNumber(String(path[0]), 1) ? 'out-of-range' : 'malformed',
      detail: `The parameter ${String(path[0])} ${message}.`,
    })),
  );
}

/**
 * The query of a list. An empty value counts as absent.
 *
 * @param isId whether a text may be an id of the list
 */
export const pageQuery = (after: z.ZodType<string>, isId: (text: string) => boolean) =>
  z.object({
    limit: z
      .union([z.number().int().min(1).max(PAGE_COUNT_MAX), z.literal('')], {
        error: `must be a whole number from 1 to ${PAGE_COUNT_MAX}`,
      })
      .default(PAGE_COUNT_DEFAULT)
      .meta({ description: 'How many entries at most; an empty value counts as absent.' }),
    after: z
      .union([after.refine(isId, 'must be an id of this list'), z.literal('')])
      .optional()
      .meta({ description: 'The `next` of the page before; an empty value counts as absent.' }),
  });

/** The member of a list that leads to its next page. */
export const NextPage = z
  .string()
  .optional()
  .meta({ description: 'Send it as `after` for the next page; absent on the last.' });

/** The page that a list's query asks for; an empty value counts as absent. */
export const pageOf = ({
  limit,
  after,
}: {
  readonly limit: number | '';
  readonly after?: string | undefined;
}): { readonly countMax: number; readonly after?: string } => ({
  countMax: limit || PAGE_COUNT_DEFAULT,
  ...(after ? { after } : {}),
});
