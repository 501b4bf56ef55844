import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { UNDETERMINED, UNDETERMINED_CAUSES } from '#shared/contracts/checks/result.ts';
import { PROBLEMS, type ProblemCode } from '#shared/http/problem.ts';
import { codesOf } from '../edge/operation.ts';
import { OPERATIONS } from '../operations.ts';
import type { ExampleChain } from './examples.ts';
import { escapeHtml, renderMarkdown, tableOf } from './markdown.ts';
import { describeApi, fence, type OpenApi } from './reference.ts';

/** The pages need their own style and script and nothing else: nothing from the network, nothing
 * inline. */
export const DOCS_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** A document of the site: the answer to a GET of its path. */
type SiteFile = { readonly contentType: string; readonly body: string };

type SiteOptions = {
  readonly document: OpenApi;
  /** Where clients reach the gateway, without a slash at its end; empty if only the reader's
   * browser knows. */
  readonly baseUrl: string;
  /** The chain, wallets and tokens of the samples. */
  readonly example: ExampleChain;
};

/** How the page's script searches. The words of a section are written for the search, so they count
 * more than a heading, and a heading more than a mention. */
const SEARCH = {
  fields: ['words', 'heading', 'page', 'text'],
  storeFields: ['heading', 'page'],
  searchOptions: { boost: { words: 10, heading: 3, page: 2 }, prefix: true, fuzzy: 0.15 },
};

const HERE = import.meta.dirname;
/** The snippets, which tests run. */
const SNIPPETS = join(HERE, '../../developer-portal/page/snippets');
const CHANGELOG = join(HERE, '../../CHANGELOG.md');
const FRAME = readFileSync(join(HERE, 'assets/page.html'), 'utf8');
/** The page at `/`: it names the service and links to its documentation. */
export const HOME_PAGE = readFileSync(join(HERE, 'assets/home.html'), 'utf8');
/** The list of pages for language models (`/llms.txt`), in the order of the sidebar. */
const CONTENTS = readFileSync(join(HERE, 'llms.txt'), 'utf8');

/** One page of the documentation; its text is `pages/<slug>.md`. */
type Topic = { readonly slug: string; readonly title: string; readonly summary: string };

export const TOPICS: readonly Topic[] = [...CONTENTS.matchAll(/^- \[(.+)\]\(docs\/(.+)\.md\): (.+)$/gm)].map(
  ([, title = '', slug = '', summary = '']) => ({ slug, title, summary }),
);

/** Placeholders: the page's script replaces them by the key that the reader enters, and by the
 * page's own address. */
const API_KEY = 'YOUR_API_KEY';
const GATEWAY_URL = 'GATEWAY_URL';

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/** The codes that the gateway may answer with, in the order of their status. */
const problems = (): string => {
  const own = new Set<ProblemCode>(['method-not-allowed', ...Object.values(OPERATIONS).flatMap(codesOf)]);
  const rows = Object.entries(PROBLEMS).filter(([code]) => own.has(code as ProblemCode));
  return tableOf(
    ['Code', 'Status', 'Meaning'],
    rows
      .sort(([, one], [, other]) => one.status - other.status)
      .map(([code, { status, title }]) => [`\`${code}\``, String(status), title]),
  );
};

/** The codes of rules that could not be read; one with several causes has a row for each. */
const undetermined = (): string => {
  const causes = Object.values(UNDETERMINED_CAUSES);
  const rows = Object.entries(UNDETERMINED).flatMap(([code, known]) => [
    { code, ...known },
    ...causes.filter((cause) => cause.code === code),
  ]);
  return tableOf(
    ['Code', 'Retryable', 'Meaning'],
    rows.map(({ code, retryable, message }) => [`\`${code}\``, retryable ? 'yes' : 'no', message]),
  );
};

const LANGUAGES = [
  ['mjs', 'js', 'Node'],
  ['py', 'python', 'Python'],
  ['go', 'go', 'Go'],
] as const;

/** A snippet in each language that it is written in; of several each is a tab. */
function snippetsOf(name: string): string {
  const found = LANGUAGES.flatMap(([extension, language, tab]) => {
    const file = join(SNIPPETS, `${extension === 'mjs' ? name : name.replaceAll('-', '_')}.${extension}`);
    return existsSync(file) ? [{ code: readFileSync(file, 'utf8').trimEnd(), language, tab }] : [];
  });
  if (found.length === 0) throw new RangeError(`there is no snippet ${name}`);
  return found
    .map(({ code, language, tab }) => fence(code, found.length === 1 ? language : `${language} tab=${tab}`))
    .join('\n\n');
}

/** The newest part of the changelog; its links into the source tree become text. */
function changelog(): string {
  const [, newest = ''] = readFileSync(CHANGELOG, 'utf8').split(/^## .*$/m);
  return newest.trim().replace(/\[([^\]]+)\]\((?!https:)[^)]*\)/g, '$1');
}

/** Replaces each `{{name}}` of a text. */
const fill = (text: string, parts: Readonly<Record<string, () => string>>): string =>
  text.replace(/\{\{(\w+)(?::([\w-]+))?\}\}/g, (whole, name: string, snippet: string | undefined) => {
    const part = snippet === undefined ? parts[name] : () => snippetsOf(snippet);
    if (part === undefined) throw new RangeError(`a page names ${whole}, which is not known`);
    return part();
  });

/** The text of a page with its generated parts and the gateway's own address. */
function textOf({ slug }: Topic, { document, example, ...options }: SiteOptions): string {
  const baseUrl = options.baseUrl || GATEWAY_URL;
  return fill(readFileSync(join(HERE, 'pages', `${slug}.md`), 'utf8'), {
    baseUrl: () => baseUrl,
    apiKey: () => API_KEY,
    ...Object.fromEntries(Object.entries(example).map(([name, value]) => [name, () => String(value)])),
    problems,
    undetermined,
    changelog,
    reference: () => describeApi(document, { baseUrl, apiKey: API_KEY }),
  });
}

/** A link of a page below `/docs/`, as a page at another depth needs it. */
const linkFrom =
  (root: string) =>
  (href: string): string => {
    if (/^([a-z]+:|#)/.test(href)) return href;
    return root === '' ? href : href.startsWith('../') ? href.slice(3) : `${root}${href}`;
  };

const frame = (topic: Topic, content: string, root: string): string => {
  const link = linkFrom(root);
  const items = TOPICS.map(
    ({ slug, title }) =>
      `<li><a href="${link(slug)}"${slug === topic.slug ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`,
  ).join('');
  return fill(FRAME, {
    title: () => escapeHtml(topic.title),
    summary: () => escapeHtml(topic.summary),
    slug: () => link(topic.slug),
    home: () => link('quickstart'),
    assets: () => link('assets'),
    root: () => root,
    items: () => items,
    content: () => content,
  });
};

/**
 * Makes the documentation: one page per topic as HTML and as Markdown, the search index, and a list
 * for language models. By path; made once at the start.
 *
 * @throws RangeError where a page names a part that does not exist
 */
export function makeDocsSite(options: SiteOptions): ReadonlyMap<string, SiteFile> {
  const files = new Map<string, SiteFile>();
  const sections: object[] = [];
  for (const topic of TOPICS) {
    const text = textOf(topic, options);
    const page = renderMarkdown(text, linkFrom(''));
    files.set(`/docs/${topic.slug}.md`, { contentType: MARKDOWN, body: text });
    files.set(`/docs/${topic.slug}`, { contentType: HTML, body: frame(topic, page.html, '') });
    for (const { anchor, ...section } of page.sections)
      sections.push({ id: `${topic.slug}#${anchor}`, page: topic.title, ...section });
  }
  const [first] = TOPICS as [Topic];
  const opening = renderMarkdown(textOf(first, options), linkFrom('docs/'));
  files.set('/docs', { contentType: HTML, body: frame(first, opening.html, 'docs/') });
  const search = JSON.stringify({ options: SEARCH, sections });
  files.set('/docs/search.json', { contentType: 'application/json', body: search });
  files.set('/llms.txt', { contentType: 'text/plain; charset=utf-8', body: CONTENTS });
  const asset = (name: string, contentType: string, path: string) =>
    files.set(`/docs/assets/${name}`, { contentType, body: readFileSync(path, 'utf8') });
  asset('docs.css', 'text/css; charset=utf-8', join(HERE, 'assets/docs.css'));
  asset('docs.js', SCRIPT, join(HERE, 'assets/docs.js'));
  const minisearch = createRequire(import.meta.url).resolve('minisearch');
  asset('minisearch.js', SCRIPT, join(minisearch, '../../es/index.js'));
  return files;
}
