import { createRequire } from 'node:module';
import { join } from 'node:path';
import express, { type Express } from 'express';
import type { Response } from './answer.ts';

const PAGE = join(import.meta.dirname, 'page');
/** The one text about changes, which the page renders. */
const CHANGELOG = { folder: join(import.meta.dirname, '..'), file: 'CHANGELOG.md' };

/** Files of packages that the page is made of, by the name it loads them under. Nothing else of a package is served. */
const VENDOR_FILES = {
  'htm-preact.js': ['htm', 'preact/standalone.module.js'],
  'uplot.js': ['uplot', 'dist/uPlot.esm.js'],
  'uplot.css': ['uplot', 'dist/uPlot.min.css'],
  'inter.woff2': ['@fontsource-variable/inter', 'files/inter-latin-wght-normal.woff2'],
} as const;

/** Kept by the browser and revalidated by their ETag: modules of two releases must never meet on one page. */
const ASSET_CACHE = 'public, no-cache';

/**
 * Serves the page: its files and those of its packages under `/assets`, and its HTML document at every path of the page.
 */
export function servePage(app: Express): void {
  const sendOptions = { cacheControl: false, etag: true, lastModified: true, dotfiles: 'ignore' } as const;
  for (const [name, [from, file]] of Object.entries(VENDOR_FILES))
    app.get(`/assets/vendor/${name}`, (_request, response, next) => {
      response.set('cache-control', ASSET_CACHE);
      response.sendFile(file, { ...sendOptions, root: packageRoot(from) }, passOn(next));
    });
  app.get('/assets/changelog.md', (_request, response, next) => {
    response.set({ 'cache-control': ASSET_CACHE, 'content-type': 'text/markdown; charset=utf-8' });
    response.sendFile(CHANGELOG.file, { ...sendOptions, root: CHANGELOG.folder }, passOn(next));
  });
  // Tests are in the same folders, and are not served.
  app.use(/^\/assets\/.*\.ts$/, notFound);
  app.use(
    '/assets',
    express.static(PAGE, {
      ...sendOptions,
      index: false,
      redirect: false,
      fallthrough: true,
      setHeaders: (response: Response) => response.set('cache-control', ASSET_CACHE),
    }),
  );
  app.use('/assets', notFound);
  app.get(/^\/(?!assets\/|api\/)[\w./-]*$/, (_request, response, next) => {
    response.set('cache-control', 'no-cache');
    response.sendFile('index.html', { ...sendOptions, root: PAGE }, passOn(next));
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

/** Found by the file that the package resolves to: most packages do not let their `package.json` be resolved. */
function packageRoot(name: string): string {
  const file = createRequire(import.meta.url).resolve(name);
  const folder = join('node_modules', name);
  return file.slice(0, file.lastIndexOf(folder) + folder.length);
}
