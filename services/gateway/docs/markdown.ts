import markdownIt from 'markdown-it';

/** A part of a page under one heading, for the search. */
type Section = {
  readonly heading: string;
  readonly anchor: string;
  /** What readers search for and neither the heading nor the text says. */
  readonly words: string;
  readonly text: string;
};

type RenderedPage = { readonly html: string; readonly sections: readonly Section[] };

const renderer = markdownIt({ html: false, linkify: false });

export const escapeHtml = (text: string): string => renderer.utils.escapeHtml(text);

export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

type Token = ReturnType<typeof renderer.parse>[number];

/** A heading and the line below it that no renderer shows: `[words]: # "rotate, leak"`. */
const WORDS = /^#+ (.+)\n\n\[words\]: # "(.+)"$/gm;
/** A code that begins the row of a table, such as `rule-set-unknown`: to the index its words are on
 * many pages, so the row is a section of its own. */
const CODE = /^`([a-z]+(?:-[a-z]+)+)`$/;

/** The language that a fence names after `tab=`. */
const tabOf = (token: Token | undefined): string | undefined =>
  token?.type === 'fence' ? /\btab=(\S+)/.exec(token.info)?.[1] : undefined;

/** The label of a block: its language, and its role if it is no program: `json: a rule`. */
function labelOf(info: string): string {
  const [language = '', ...role] = info.split(' ').filter((word) => !word.startsWith('tab='));
  return `${language || 'text'}${role.length > 0 ? `: ${role.join(' ')}` : ''}`;
}

/** A block of code that the page's script gives a copy button. */
const fenceHtml = ({ content, info }: Token): string =>
  `<pre class="code" tabindex="0" data-label="${escapeHtml(labelOf(info))}"><code>${escapeHtml(content.trimEnd())}</code></pre>`;

function sampleHtml(token: Token): string {
  const name = escapeHtml(String(tabOf(token)));
  return `<section data-tab="${name}"><h4>${name}</h4>${fenceHtml(token)}</section>`;
}

/** A table in Markdown; nothing without rows. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const cellsOf = (row: readonly string[]) => row.map((cell) => cell.replaceAll('|', '\\|'));
  return [head, head.map(() => '---'), ...rows.map(cellsOf)]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
}

renderer.renderer.rules['fence'] = (tokens, at) => {
  const name = tabOf(tokens[at]);
  if (name === undefined) return fenceHtml(tokens[at] as Token);
  // The first fence of a group renders all of it.
  if (tabOf(tokens[at - 1]) !== undefined) return '';
  const end = tokens.findIndex((token, index) => index > at && tabOf(token) === undefined);
  // Without a script all are shown, one below the other; the page's script makes tabs of them.
  const group = tokens.slice(at, end === -1 ? undefined : end);
  return `<div class="samples">${group.map(sampleHtml).join('')}</div>`;
};
// A wide table scrolls inside of its box, by keyboard too.
renderer.renderer.rules['table_open'] = () => '<div class="table" tabindex="0"><table>';
renderer.renderer.rules['table_close'] = () => '</table></div>';

/**
 * Renders one page. Consecutive fences with `tab=NAME` become one group of samples; the other words
 * behind a fence's language say what the block is, such as `a rule`; headings get anchors; tables
 * scroll inside of themselves.
 *
 * @param linkOf the address of a link as the page's reader needs it
 * @example
 * renderMarkdown('# Rules', (href) => href).sections[0]?.anchor; // 'rules'
 */
export function renderMarkdown(text: string, linkOf: (href: string) => string): RenderedPage {
  const tokens = renderer.parse(text, {});
  const words = new Map([...text.matchAll(WORDS)].map(([, heading, found = '']) => [heading, found]));
  const sections: (Section & { text: string })[] = [];
  const codes: Section[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type !== 'inline') continue;
    for (const child of token.children ?? [])
      if (child.type === 'link_open') child.attrSet('href', linkOf(String(child.attrGet('href'))));
    const heading = tokens[at - 1];
    const [, code] = (tokens[at - 2]?.type === 'tr_open' && CODE.exec(token.content)) || [];
    if (code !== undefined && ![...sections, ...codes].some(({ anchor }) => anchor === code)) {
      heading?.attrSet('id', code);
      codes.push({ heading: code, anchor: code, words: '', text: tokens[at + 3]?.content ?? '' });
    }
    const section = sections.at(-1);
    if (heading?.type === 'heading_open') {
      const anchor = anchorOf(token.content);
      heading.attrSet('id', anchor);
      sections.push({
        heading: token.content.replaceAll('`', ''),
        anchor,
        words: words.get(token.content) ?? '',
        text: '',
      });
    } else if (section) section.text += ` ${token.content}`;
  }
  return { html: renderer.renderer.render(tokens, renderer.options, {}), sections: [...sections, ...codes] };
}
