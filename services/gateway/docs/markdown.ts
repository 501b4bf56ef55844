import markdownIt from 'markdown-it';

/** A part of a page under one heading, for the search. */
export type Section = { readonly heading: string; readonly anchor: string; readonly text: string };

export type RenderedPage = { readonly html: string; readonly sections: readonly Section[] };

const renderer = markdownIt({ html: false, linkify: false });

export const escapeHtml = (text: string): string => renderer.utils.escapeHtml(text);

export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');

type Token = ReturnType<typeof renderer.parse>[number];

/** The language that a fence names after `tab=`. */
const tabOf = (token: Token | undefined): string | undefined =>
  token?.type === 'fence' ? /\btab=(\S+)/.exec(token.info)?.[1] : undefined;

const fenceHtml = (token: Token): string => codeBlock(token.content, token.info.split(' ')[0] || 'text');

/** A block of code that the page's script gives a copy button. */
export const codeBlock = (code: string, language: string): string =>
  `<pre class="code" tabindex="0" data-language="${escapeHtml(language)}"><code>${escapeHtml(code.trimEnd())}</code></pre>`;

/** A wide table scrolls inside of this box, by keyboard too. */
export const TABLE_OPEN = '<div class="table" tabindex="0"><table>';
export const TABLE_CLOSE = '</table></div>';

/**
 * Samples of one thing in several languages. Without a script all are shown, one below the other;
 * the page's script makes tabs of them.
 */
export const sampleGroup = (samples: readonly { readonly name: string; readonly html: string }[]): string =>
  `<div class="samples">${samples
    .map(
      ({ name, html }) =>
        `<section data-tab="${escapeHtml(name)}"><h4>${escapeHtml(name)}</h4>${html}</section>`,
    )
    .join('')}</div>`;

renderer.renderer.rules['fence'] = (tokens, at) => {
  const name = tabOf(tokens[at]);
  if (name === undefined) return fenceHtml(tokens[at] as Token);
  // The first fence of a group renders all of it.
  if (tabOf(tokens[at - 1]) !== undefined) return '';
  const end = tokens.findIndex((token, index) => index > at && tabOf(token) === undefined);
  const group = tokens.slice(at, end === -1 ? undefined : end);
  return sampleGroup(group.map((token) => ({ name: String(tabOf(token)), html: fenceHtml(token) })));
};
renderer.renderer.rules['table_open'] = () => TABLE_OPEN;
renderer.renderer.rules['table_close'] = () => TABLE_CLOSE;

/**
 * Renders one page. Consecutive fences with `tab=NAME` become one group of samples; headings get
 * anchors; tables scroll inside of themselves.
 *
 * @param linkOf the address of a link as the page's reader needs it
 * @example
 * renderMarkdown('# Rules', (href) => href).sections[0]?.anchor; // 'rules'
 */
export function renderMarkdown(text: string, linkOf: (href: string) => string): RenderedPage {
  const tokens = renderer.parse(text, {});
  const sections: { heading: string; anchor: string; text: string }[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type !== 'inline') continue;
    for (const child of token.children ?? [])
      if (child.type === 'link_open') child.attrSet('href', linkOf(String(child.attrGet('href'))));
    const heading = tokens[at - 1];
    const section = sections.at(-1);
    if (heading?.type === 'heading_open') {
      const anchor = anchorOf(token.content);
      heading.attrSet('id', anchor);
      sections.push({ heading: token.content.replaceAll('`', ''), anchor, text: '' });
    } else if (section) section.text += ` ${token.content}`;
  }
  return { html: renderer.renderer.render(tokens, renderer.options, {}), sections };
}
