import { createHash } from 'node:crypto';
import type { makeOpenApi } from './openapi.ts';
import { PROBLEMS, typeOf } from './problem.ts';

type Document = ReturnType<typeof makeOpenApi>;
type Operation = NonNullable<NonNullable<Document['paths']>[string]>['get'];

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid #d0d7de; padding-top: 1.5rem }
code, pre { font: 14px/1.45 ui-monospace, monospace } code { background: #f3f4f6; padding: 0.1em 0.3em }
pre { background: #f3f4f6; padding: 0.8rem; overflow: auto } table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; border-bottom: 1px solid #d0d7de; padding: 0.4rem 0.6rem 0.4rem 0 }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117 } code, pre { background: #161b22 }
h2, th, td { border-color: #30363d } a { color: #58a6ff } }`;

/** The page needs its own style and nothing else: no script, no image, nothing from the network. */
export const DOCS_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** Plain text with `code` in backticks. */
const prose = (text = ''): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
const json = (value: unknown): string =>
  `<pre tabindex="0">${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;

/** What somebody reads who opens the gateway itself: what this is, and where it is described. */
export const HOME_PAGE = [
  '<!doctype html><html lang="en"><head><meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width, initial-scale=1">',
  `<title>Rolecall</title><style>${STYLE}</style></head><body><main><h1>Rolecall</h1>`,
  '<p>Which of these roles does this wallet hold the tokens for? POST a wallet and rules to',
  '<code>/access-control/check-roles</code>, with your key in <code>x-api-key</code>.</p><ul>',
  '<li><a href="docs">docs</a>: the API, to read</li>',
  '<li><a href="openapi.json">openapi.json</a>: the same as OpenAPI 3.1, for tools</li>',
  '</ul></main></body></html>',
].join('\n');

/**
 * The OpenAPI document as one page of HTML, readable without any script.
 *
 * @example
 * const html = makeDocsPage(makeOpenApi(''));
 */
export function makeDocsPage(document: Document): string {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    (['get', 'post'] as const).flatMap((method) =>
      item?.[method] ? [{ method, path, operation: item[method] }] : [],
    ),
  );
  const schemas = Object.entries(document.components?.schemas ?? {});
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(document.info.title)} API</title><style>${STYLE}</style></head><body><main>`,
    `<h1>${escapeHtml(document.info.title)} API</h1><p>${prose(document.info.description)}</p>`,
    '<p>Send your key in <code>x-api-key</code>. For machines: <a href="openapi.json">openapi.json</a>.</p><ul>',
    ...operations.map(
      ({ method, path }) => `<li><a href="#${anchor(method, path)}">${heading(method, path)}</a></li>`,
    ),
    '<li><a href="#schemas">Schemas</a></li><li><a href="#problems">Problems</a></li></ul>',
    ...operations.map(({ method, path, operation }) => section(method, path, operation)),
    '<h2 id="schemas">Schemas</h2>',
    ...schemas.map(
      ([name, schema]) => `<h3 id="schema-${escapeHtml(name)}">${escapeHtml(name)}</h3>${json(schema)}`,
    ),
    problemTable(),
    '</main></body></html>',
  ].join('\n');
}

const heading = (method: string, path: string): string =>
  `<code>${method.toUpperCase()} ${escapeHtml(path)}</code>`;
const anchor = (method: string, path: string): string => `${method}${path.replace(/[^a-z]+/gi, '-')}`;

function section(method: string, path: string, operation: Operation): string {
  const examples = Object.values(requestBodyOf(operation)?.['application/json']?.examples ?? {});
  const responses = Object.entries(operation?.responses ?? {}).map(
    ([status, response]) => `<tr><td>${status}</td><td>${prose(descriptionOf(response))}</td></tr>`,
  );
  return [
    `<h2 id="${anchor(method, path)}">${heading(method, path)}</h2>`,
    `<p>${prose(operation?.summary)}.</p><p>${prose(operation?.description)}</p>`,
    ...examples.map((example) => {
      const { summary, value } = example as { summary?: string; value?: unknown };
      return `<h3>${prose(summary)}</h3>${json(value)}`;
    }),
    '<table><thead><tr><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead><tbody>',
    ...responses,
    '</tbody></table>',
  ].join('\n');
}

type Content = Readonly<Record<string, { readonly examples?: Readonly<Record<string, unknown>> }>>;

function requestBodyOf(operation: Operation): Content | undefined {
  const body = operation?.requestBody as { readonly content?: Content } | undefined;
  return body?.content;
}

const descriptionOf = (response: unknown): string =>
  (response as { readonly description?: string }).description ?? '';

function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) =>
      `<tr><td>${status}</td><td><code>${code}</code></td><td>${title}</td><td><code>${typeOf(code as keyof typeof PROBLEMS)}</code></td></tr>`,
  );
  const head = ['Status', 'Code', 'Meaning', 'Type'].map((name) => `<th scope="col">${name}</th>`).join('');
  return `<h2 id="problems">Problems</h2><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}
