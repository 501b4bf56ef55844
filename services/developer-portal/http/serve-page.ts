import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { extname, join } from 'node:path';
import type { Express } from 'express';

const PAGE = join(import.meta.dirname, '../page');
/** The page's files, and the snippet that it runs itself. What else lies beside them, such as a test,
 * is not served. */
const PAGE_FILE = /(?<!\.test|\.d)\.ts$|\.(css|svg)$|^snippets\/fold-roles\.mjs$/;

/** Files of packages that the page is made of, by the name it loads them under. Nothing else of a
 * package is served. */
const VENDOR_FILES = {
  'htm-preact.js': ['htm', 'preact/standalone.module.js'],
  'uplot.js': ['uplot', 'dist/uPlot.esm.js'],
  'uplot.css': ['uplot', 'dist/uPlot.min.css'],
  'inter.woff2': ['@fontsource-variable/inter', 'files/inter-latin-wght-normal.woff2'],
} as const;

type Asset = { readonly type: string; readonly body: Buffer; readonly etag: string };

/** What browsers get of a file: blanks stand for the types of TypeScript, so that lines and columns
 * stay those of the file. */
function readAsset(file: string): Asset {
  const isTyped = extname(file) === '.ts';
  const body = isTyped ? Buffer.from(stripTypeScriptTypes(readFileSync(file, 'utf8'))) : readFileSync(file);
  const digest = hash('sha256', body, 'base64url');
  return { type: isTyped ? '.js' : extname(file), body, etag: `"${digest}"` };
}

/** What is at each path under `/assets`. Read once: a request names one of these, and no file. */
const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ...readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .filter((file) => PAGE_FILE.test(file))
    .map((file) => [`/${file}`, readAsset(join(PAGE, file))] as const),
  ...Object.entries(VENDOR_FILES).map(
    ([name, [from, file]]) => [`/vendor/${name}`, readAsset(join(packageRoot(from), file))] as const,
  ),
]);

/** The HTML document. It names every module, so that a browser loads all of them at once. */
function drawDocument(): string {
  const modules = [...ASSETS.keys()].filter((path) => /\.(m?js|ts)$/.test(path));
  const links = modules.map((path) => `<link rel="modulepreload" href="/assets${path}">`);
  return readFileSync(join(PAGE, 'index.html'), 'utf8').replace('<!-- modules -->', links.join('\n    '));
}

/** Kept by the browser and revalidated by their ETag: modules of two releases must never meet on
 * one page. */
const ASSET_CACHE = 'public, no-cache';

/**
 * Serves the page: its files and those of its packages under `/assets`, and its HTML document at
 * every path of the page.
 */
export function servePage(app: Express): void {
  const document = drawDocument();
  // Without a group: Express would decode it, and fail on an invalid percent escape.
  app.get(/^\/assets\//, ({ path }, response, next) => {
    const asset = ASSETS.get(path.slice('/assets'.length));
    if (asset === undefined) return next();
    response.set({ 'cache-control': ASSET_CACHE, etag: asset.etag }).type(asset.type).send(asset.body);
  });
  app.get(/^\/(?!assets\/|api\/)[\w./-]*$/, (_request, response) => {
    response.set('cache-control', 'no-cache').type('html').send(document);
  });
  app.use((_request, response) => void response.status(404).type('text/plain').send('not found\n'));
}

/** Found by the file that the package resolves to: most packages do not let their `package.json` be
 * resolved. */
function packageRoot(name: string): string {
  const file = createRequire(import.meta.url).resolve(name);
  const folder = join('node_modules', name);
  return file.slice(0, file.lastIndexOf(folder) + folder.length);
}
