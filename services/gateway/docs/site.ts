import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { UNDETERMINED } from '#shared/contracts/checks/result.ts';
import { PROBLEMS, type ProblemCode } from '#shared/http/problem.ts';
import { codesOf } from '../edge/operation.ts';
import { OPERATIONS } from '../operations.ts';
import { escapeHtml, renderMarkdown, tableOf } from './markdown.ts';
import { describeApi, type OpenApi } from './reference.ts';
import { TOPICS, type Topic } from './topics.ts';

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
  /** A configured chain, for the samples. */
  readonly chainId: number;
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

const undetermined = (): string =>
  tableOf(
    ['Code', 'Retryable', 'Meaning'],
    Object.entries(UNDETERMINED).map(([code, { retryable, message }]) => [
      `\`${code}\``,
      retryable ? 'yes' : 'no',
      message,
    ]),
  );

function snippets(files: readonly (readonly [file: string, language: string, name: string])[]): string {
  return files
    .map(
      ([file, language, name]) =>
        `\`\`\`${language} tab=${name}\n${readFileSync(join(SNIPPETS, file), 'utf8').trimEnd()}\n\`\`\``,
    )
    .join('\n\n');
}

/** The newest part of the changelog; its links into the source tree become text. */
function changelog(): string {
  const [, newest = ''] = readFileSync(CHANGELOG, 'utf8').split(/^## .*$/m);
  return newest.trim().replace(/\[([^\]]+)\]\((?!https:)[^)]*\)/g, '$1');
}

/** The text of a page with its generated parts and the gateway's own address. */
function textOf({ slug }: Topic, { document, chainId, ...options }: SiteOptions): string {
  const baseUrl = options.baseUrl || GATEWAY_URL;
  const parts: Readonly<Record<string, () => string>> = {
    baseUrl: () => baseUrl,
    apiKey: () => API_KEY,
    chainId: () => String(chainId),
    problems,
    undetermined,
    changelog,
    reference: () => describeApi(document, { baseUrl, apiKey: API_KEY }),
    'snippets:verify': () =>
      snippets([
        ['verify.mjs', 'js', 'Node'],
        ['verify.py', 'python', 'Python'],
        ['verify.go', 'go', 'Go'],
      ]),
    'snippets:fold': () =>
      snippets([
        ['fold-roles.mjs', 'js', 'Node'],
        ['fold_roles.py', 'python', 'Python'],
        ['fold_roles.go', 'go', 'Go'],
      ]),
    'snippets:proof': () =>
      snippets([
        ['verify-proof.mjs', 'js', 'Node'],
        ['verify_proof.py', 'python', 'Python'],
        ['verify_proof.go', 'go', 'Go'],
      ]),
    'snippets:check': () =>
      `\`\`\`js\n${readFileSync(join(SNIPPETS, 'check.mjs'), 'utf8').trimEnd()}\n\`\`\``,
  };
  return readFileSync(join(HERE, 'pages', `${slug}.md`), 'utf8').replace(
    /\{\{([\w:]+)\}\}/g,
    (whole, name: string) => {
      const part = parts[name];
      if (part === undefined) throw new RangeError(`${slug}.md names ${whole}, which is not known`);
      return part();
    },
  );
}

/** A link of a page below `/docs/`, as a page at another depth needs it. */
const linkFrom =
  (root: string) =>
  (href: string): string => {
    if (/^([a-z]+:|#)/.test(href)) return href;
    return root === '' ? href : href.startsWith('../') ? href.slice(3) : `${root}${href}`;
  };

function frame(topic: Topic, content: string, root: string): string {
  const link = linkFrom(root);
  const items = TOPICS.map(
    ({ slug, title }) =>
      `<li><a href="${link(slug)}"${slug === topic.slug ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`,
  ).join('');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(topic.title)} · Rolecall</title><meta name="description" content="${escapeHtml(topic.summary)}">`,
    `<link rel="stylesheet" href="${link('assets/docs.css')}">`,
    `<link rel="alternate" type="text/markdown" href="${link(`${topic.slug}.md`)}">`,
    `<script type="module" src="${link('assets/docs.js')}"></script></head>`,
    `<body data-root="${root}"><a class="skip" href="#content">Skip to the text</a>`,
    '<header><a class="brand" href="',
    link('quickstart'),
    '">Rolecall</a>',
    '<div class="search" hidden><label for="search">Search</label><input id="search" type="search" autocomplete="off" placeholder="Search the docs">',
    '<ol class="found" aria-live="polite"></ol></div></header>',
    `<div class="columns"><nav aria-label="Documentation"><details open><summary>Pages</summary><ul class="pages">${items}</ul></details>`,
    '<div class="key" hidden><label for="key">Your API key</label><input id="key" type="text" class="secret" autocomplete="off" spellcheck="false" placeholder="rck_live_…" aria-describedby="key-note">',
    '<small id="key-note">Filled into the samples. It stays in this tab and is sent nowhere.</small></div></nav>',
    `<main id="content" tabindex="-1">${content}</main></div></body></html>`,
  ].join('\n');
}

const summary = (): string =>
  [
    '# Rolecall',
    '',
    '> Given a wallet and a list of token rules, which roles does it have? An HTTP API for token gating: checks, batches, watches, webhooks.',
    '',
    '## Docs',
    '',
    ...TOPICS.map(({ slug, title, summary: line }) => `- [${title}](docs/${slug}.md): ${line}`),
    '- [OpenAPI 3.1](openapi.json): every operation, for tools',
    '',
  ].join('\n');

/**
 * Makes the documentation: one page per topic as HTML and as Markdown, the search index, and a list
 * for language models (`/llms.txt`). By path; made once at the start.
 *
 * @throws RangeError where a page names a part that does not exist
 * @example
 * makeDocsSite({ document, baseUrl: 'http://localhost:8080', chainId: 1 }).get('/docs/rules')?.contentType; // 'text/html; …'
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
  files.set('/llms.txt', { contentType: 'text/plain; charset=utf-8', body: summary() });
  const asset = (name: string, contentType: string, path: string) =>
    files.set(`/docs/assets/${name}`, { contentType, body: readFileSync(path, 'utf8') });
  asset('docs.css', 'text/css; charset=utf-8', join(HERE, 'assets/docs.css'));
  asset('docs.js', SCRIPT, join(HERE, 'assets/docs.js'));
  const minisearch = createRequire(import.meta.url).resolve('minisearch');
  asset('minisearch.js', SCRIPT, join(minisearch, '../../es/index.js'));
  return files;
}
