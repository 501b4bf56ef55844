import { parser } from '@prometheus-io/lezer-promql';

/** One series of a query. */
type Selector = { readonly name: string; readonly labels: readonly string[]; readonly text: string };

type ParsedQuery = {
  readonly selectors: readonly Selector[];
  /** Labels by which the query groups, joins or aggregates. */
  readonly groupings: readonly string[];
};

/** The variables that Grafana replaces in a query. */
const fillIn = (query: string): string =>
  query.replaceAll('$__rate_interval', '1m').replaceAll(/\$[a-z]+/g, '.*');

/**
 * Parses a query after filling in Grafana's variables.
 *
 * @throws Error if it is not valid PromQL
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
      if (type.isError) throw new Error(`invalid PromQL at ${from}: ${text}`);
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

/** The query as Grafana sends it to the server. */
export const asAsked = fillIn;
