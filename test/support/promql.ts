import { parser } from '@prometheus-io/lezer-promql';

/** One series that a query names. */
export type Selector = { readonly name: string; readonly labels: readonly string[]; readonly text: string };

export type ParsedQuery = {
  readonly selectors: readonly Selector[];
  /** Labels that the query groups, joins or aggregates by. */
  readonly groupings: readonly string[];
};

/** What Grafana puts into a query before it asks. */
const fillIn = (query: string): string =>
  query.replaceAll('$__rate_interval', '1m').replaceAll(/\$[a-z]+/g, '.*');

/**
 * Parses a query, with Grafana's variables filled in.
 *
 * @throws Error where it is no PromQL
 *
 * @example
 * parseQuery('sum by (lane) (rolecall_x{lane="bulk"})').selectors; // [{ name: 'rolecall_x', labels: ['lane'], … }]
 */
export function parseQuery(query: string): ParsedQuery {
  const text = fillIn(query);
  const selectors: Selector[] = [];
  const groupings: string[] = [];
  let current: { name: string; labels: string[]; text: string } | undefined;
  parser.parse(text).iterate({
    enter({ type, name, from, to, node }) {
      const word = text.slice(from, to);
      if (type.isError) throw new Error(`no PromQL at ${from}: ${text}`);
      if (name === 'VectorSelector') {
        current = { name: '', labels: [], text: word };
        selectors.push(current);
      }
      if (name === 'Identifier' && current && node.parent?.name === 'VectorSelector') current.name = word;
      if (name !== 'LabelName') return;
      if (node.parent?.name === 'GroupingLabels') groupings.push(word);
      else current?.labels.push(word);
    },
  });
  return { selectors, groupings };
}

/** The query as the server would be asked it. */
export const asAsked = fillIn;
