import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Express } from 'express';
import type { Response } from './answer.ts';

const PAGE = join(import.meta.dirname, '../page');
/** The page's files, and the snippet that it runs itself. What else lies beside them, such as a test,
 * is not served. */
const PAGE_FILE = /\.(js|css|svg)$|^snippets\/fold-roles\.mjs$/;

/** Files of packages that the page is made of, by the name it loads them under. Nothing else of a
 * package is served. */
const VENDOR_FILES = {
  'htm-preact.js': ['htm', 'preact/standalone.module.js'],
  'uplot.js': ['uplot', 'dist/uPlot.esm.js'],
  'uplot.css': ['uplot', 'dist/uPlot.min.css'],
  'inter.woff2': ['@fontsource-variable/inter', 'files/inter-latin-wght-normal.woff2'],
} as const;

/** The file of each path under `/assets`. Read once: a request names one of these, and no file. */
const listAssets = (): ReadonlyMap<string, string> =>
  new Map([
    ...readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
      .filter((file) => PAGE_FILE.test(file))
      .map((file) => [`/${file}`, join(PAGE, file)] as const),
    ...Object.entries(VENDOR_FILES).map(
      ([name, [from, file]]) => [`/vendor/${name}`, join(packageRoot(from), file)] as const,
    ),
  ]);

/** The HTML document. It names every module, so that a browser loads all of them at once. */
function drawDocument(assets: Iterable<string>): string {
  const modules = [...assets].filter((path) => /\.m?js$/.test(path));
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
  const assets = listAssets();
  const document = drawDocument(assets.keys());
  // Without a group: Express would decode it, and fail on an invalid percent escape.
  app.get(/^\/assets\//, ({ path }, response, next) => {
    const file = assets.get(path.slice('/assets'.length));
    if (file === undefined) return next();
    response.set('cache-control', ASSET_CACHE);
    // The list is what allows a file, wherever the repository lies.
    response.sendFile(file, { cacheControl: false, dotfiles: 'allow' }, passOn(next));
  });
  app.get(/^\/(?!assets\/|api\/)[\w./-]*$/, (_request, response) => {
    response.set('cache-control', 'no-cache').type('html').send(document);
  });
  app.use(notFound);
}

const notFound = (_request: unknown, response: Response): void => {
  response.status(404).type('text/plain').send('not found\n');
};

/** An aborted download is not an error. */
const passOn = (next: (error?: unknown) => void) => (error?: NodeJS.ErrnoException) => {
  if (error && error.code !== 'ECONNABORTED') next(error);
};

/** Found by the file that the package resolves to: most packages do not let their `package.json` be
 * resolved. */
function packageRoot(name: string): string {
  const file = createRequire(import.meta.url).resolve(name);
  const folder = join('node_modules', name);
  return file.slice(0, file.lastIndexOf(folder) + folder.length);
}
