/** The page at `/`: it names the service and links to its documentation. */
export const HOME_PAGE = [
  '<!doctype html><html lang="en"><head><meta charset="utf-8">',
  '<meta name="viewport" content="width=device-width, initial-scale=1">',
  '<title>Rolecall</title><link rel="stylesheet" href="docs/assets/docs.css"></head><body><main><h1>Rolecall</h1>',
  '<p>Given a wallet and a list of token rules, which roles does it have? POST a wallet and rules to',
  '<code>/access-control/check-roles</code>, with your key in <code>x-api-key</code>.</p><ul>',
  '<li><a href="docs">docs</a>: how to use it, with samples</li>',
  '<li><a href="openapi.json">openapi.json</a>: every operation as OpenAPI 3.1, for tools</li>',
  '<li><a href="llms.txt">llms.txt</a>: the pages as Markdown, for language models</li>',
  '</ul></main></body></html>',
].join('\n');
