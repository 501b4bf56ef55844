import MiniSearch, { type Options } from 'minisearch';
import { UNDETERMINED, UNDETERMINED_CAUSES } from '#shared/contracts/checks/result.ts';
import { DemoChain } from '#shared/contracts/demo-chain.ts';
import { EXAMPLE_CHAIN, exampleOf } from './examples.ts';
import { anchorOf, renderMarkdown } from './markdown.ts';
import { makeOpenApi, onChain } from './openapi.ts';
import { filledPath, samplesOf } from './samples.ts';
import { makeDocsSite, TOPICS } from './site.ts';

const example = exampleOf({ chains: [{ chainId: 137 }], demo: undefined });
const site = makeDocsSite({ document: makeOpenApi(''), baseUrl: 'https://api.example.com', example });
const bodyOf = (path: string): string => site.get(path)?.body ?? '';
const { options, sections } = JSON.parse(bodyOf('/docs/search.json')) as {
  readonly options: Options;
  readonly sections: readonly { readonly id: string; readonly words: string }[];
};
const pages = [...site].filter(([, { contentType }]) => contentType.startsWith('text/html'));

describe('the documentation', () => {
  it('has every topic as HTML and as Markdown, and lists all of them for language models', () => {
    for (const { slug } of TOPICS) {
      expect(bodyOf(`/docs/${slug}`)).toContain('<h1');
      expect(bodyOf(`/docs/${slug}.md`)).toMatch(/^# /);
      expect(bodyOf('/llms.txt')).toContain(`docs/${slug}.md`);
    }
  });

  it('fills every placeholder: the address, a configured chain, generated tables', () => {
    for (const [path, { body, contentType }] of site)
      if (/html|markdown/.test(contentType)) expect([path, body.match(/\{\{\w+/)]).toEqual([path, null]);
    expect(bodyOf('/docs/quickstart')).toContain('ROLECALL_URL=https://api.example.com');
    expect(bodyOf('/docs/quickstart')).toContain('&quot;chainId&quot;: 137');
    expect(bodyOf('/docs/errors')).toContain('<code>api-key-missing</code>');
    expect(bodyOf('/docs/errors')).toContain('<code>rpc-unavailable</code>');
  });

  it('names in no sample of an operation a chain that the server may not have', () => {
    const text = JSON.stringify(onChain(makeOpenApi(''), example));
    expect(text).toContain('"chainId":137');
    expect(text).toContain('"atBlock":{"137":21000000}');
    expect(text).not.toMatch(/"chainId":1\b|"(blocks|blockNumbers|minBlock|atBlock)":\{"1"/);
  });

  it('names wallets and tokens of the demo chain where it is configured, and nowhere else', () => {
    const names = ['holder', 'stranger', 'erc20', 'erc721', 'erc1155'] as const;
    const addresses = Object.fromEntries(names.map((name, place) => [name, `0x${place}${'a'.repeat(39)}`]));
    const demo = DemoChain.parse({ chainId: 31_337, ...addresses });
    const textFor = (chainIds: readonly number[]) => {
      const chain = exampleOf({ chains: chainIds.map((chainId) => ({ chainId })), demo });
      return JSON.stringify(onChain(makeOpenApi(''), chain));
    };
    for (const name of names) {
      expect(textFor([137, 31_337])).toContain(demo[name]);
      expect(textFor([137, 31_337])).not.toContain(EXAMPLE_CHAIN[name]);
      expect(textFor([137])).not.toContain(demo[name]);
    }
    expect(textFor([31_337])).toContain('"atBlock":{"31337":1}');
  });

  it('resolves a Location, which may be absolute, in every sample that follows it', () => {
    const samples = ['checks', 'batches'].map((slug) => bodyOf(`/docs/${slug}.md`));
    for (const sample of samples)
      expect(sample).toContain('urljoin(accepted.url, accepted.headers["Location"])');
    for (const { slug } of TOPICS) expect(bodyOf(`/docs/${slug}.md`)).not.toMatch(/base_url\}\{/);
  });

  it('has a row for each code of an unread rule, and for each cause with a message of its own', () => {
    const known = Object.entries(UNDETERMINED).map(([code, row]) => ({ code, ...row }));
    for (const { code, retryable, message } of [...known, ...Object.values(UNDETERMINED_CAUSES)])
      expect(bodyOf('/docs/errors.md')).toContain(
        `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${message} |`,
      );
  });

  it('says which tokens are not followed', () => {
    const page = bodyOf('/docs/watches');
    for (const word of ['WETH9', 'ERC-2309', 'rebasing', 'CELO', 'GLMR', 'delegation'])
      expect(page.slice(page.indexOf('id="what-is-not-followed"'))).toContain(word);
  });

  it('serves no source file', () => {
    expect([...site.keys()].filter((path) => /\.(ts|mjs|py|go)$/.test(path))).toEqual([]);
  });

  it('links only to files of the site and to sections that exist', () => {
    for (const [path, { body }] of pages)
      for (const [, href = ''] of body.matchAll(/(?:href|src)="([^"]+)"/g)) {
        const target = new URL(href, `http://site${path}`);
        if (target.origin !== 'http://site' || target.pathname === '/openapi.json') continue;
        const file = site.get(target.pathname);
        expect([path, href, file !== undefined]).toEqual([path, href, true]);
        if (target.hash) expect(file?.body).toContain(`id="${target.hash.slice(1)}"`);
      }
  });

  it('finds sections by addresses that exist', () => {
    expect(new Set(sections.map(({ id }) => id)).size).toBe(sections.length);
    for (const { id } of sections) {
      const [slug, anchor] = id.split('#');
      expect(bodyOf(`/docs/${slug}`)).toContain(`id="${anchor}"`);
    }
  });

  it('has no inline script or style, which its policy would refuse', () => {
    for (const [path, { body }] of pages) {
      expect([path, body.match(/<script(?![^>]*src=)|<style|\sstyle=|\son\w+="/)]).toEqual([path, null]);
    }
  });

  it('shows each operation with a sample in three languages, and every member of its body', () => {
    const reference = bodyOf('/docs/reference');
    const operations = Object.values(makeOpenApi('').paths ?? {}).flatMap((item) =>
      Object.values(item ?? {}),
    );
    expect(reference.match(/data-tab="curl"/g)?.length).toBe(operations.length);
    expect(reference.match(/data-tab="Python"/g)?.length).toBe(operations.length);
    expect(reference).toContain('<code>callbackUrl</code>');
  });
});

/** What readers ask for, by the page that answers it. */
const ASKED: Readonly<Record<string, readonly string[]>> = {
  quickstart: ['getting started', 'python', 'typescript', 'sdk'],
  checks: [
    'async',
    'pending',
    'undetermined',
    'snapshot',
    'reorg',
    'delegate.xyz',
    'cold wallet',
    'why',
    'ens',
    'mainnet',
  ],
  rules: [
    'erc20',
    'erc-20',
    'nft',
    'erc1155',
    'eth',
    'view function',
    'sum',
    'cross-chain',
    'and',
    'rule set',
  ],
  recipes: ['flash loan', 'staking', 'ERC-4626', 'ERC20Votes', 'ERC-5192', 'ERC-4907', 'Uniswap V3', 'Hats'],
  batches: ['batch', 'bulk', 'csv', 'ndjson', 'dry run', 'pagination'],
  watches: ['watch', 'discord', 'monitor', 'mass revocation', 'stalled', 'rebasing'],
  webhooks: [
    'webhook signature',
    'hmac',
    'callback',
    'localhost',
    'webhook',
    'missed webhook',
    'resend',
    'duplicate webhook',
    'express',
  ],
  proofs: ['jwt', 'jwks', 'session'],
  authzen: ['pdp', 'policy decision point'],
  'who-asks': ['sign in', 'siwe', 'login', 'metamask', 'erc-1271', 'smart account', 'passkey'],
  errors: ['error code', '401', '403', '422', '503'],
  limits: ['rate limit', '429', 'quota', 'refund', 'price', 'permission'],
  idempotency: ['retry', 'timeout', 'duplicate request', 'Idempotency-Key'],
  data: ['rotate', 'delete', 'gdpr', 'privacy', 'retention', 'leaked key', 'delete account'],
  operating: ['kubernetes', 'docker', 'self-host', 'backup', 'export', 'restore', 'prometheus', 'upgrade'],
  versioning: ['breaking change', 'deprecation', 'support', 'sunset', 'changelog', 'release notes'],
  reference: ['openapi', 'swagger', 'postman'],
};

describe('the search', () => {
  const index = new MiniSearch(options);
  index.addAll(sections);

  it.each(Object.entries(ASKED).flatMap(([slug, asked]) => asked.map((words) => [slug, words] as const)))(
    'finds the page %s first for %j',
    (slug, words) => {
      expect(index.search(words)[0]?.id).toMatch(new RegExp(`^${slug}#`));
    },
  );

  it('finds the row of each error code, as somebody pastes it from an answer', () => {
    const codes = [...bodyOf('/docs/errors').matchAll(/<td id="([\w-]+)">/g)].map(([, code = '']) => code);
    expect(codes).toEqual(expect.arrayContaining(['api-key-missing', 'rule-set-unknown', 'rpc-unavailable']));
    for (const code of codes) {
      const found = index.search(code).slice(0, 3);
      expect(found.map(({ id }) => id)).toContain(`errors#${code}`);
    }
  });

  it('knows the words of every section that has some, and shows them nowhere', () => {
    const lines = TOPICS.flatMap(({ slug }) => bodyOf(`/docs/${slug}.md`).match(/^\[words\]/gm) ?? []);
    expect(sections.filter(({ words }) => words !== '')).toHaveLength(lines.length);
    for (const [path, { body }] of pages) expect([path, body.includes('[words]')]).toEqual([path, false]);
  });
});

describe('a page in Markdown', () => {
  it('joins consecutive samples into one group', () => {
    const { html } = renderMarkdown(
      '```sh tab=curl\na\n```\n\n```ts tab=TypeScript\nb\n```\n\nx\n\n```json\nc\n```',
      String,
    );
    expect(html.match(/class="samples"/g)).toHaveLength(1);
    expect(html.match(/<section/g)).toHaveLength(2);
  });

  it('says what a block is that is no program', () => {
    const { html } = renderMarkdown('```json a rule\n{}\n```\n\n```ts tab=TypeScript\n1;\n```', String);
    expect(html).toContain('data-label="json: a rule"');
    expect(html).toContain('data-label="ts"');
  });

  it('shows markup in its text as text', () => {
    expect(renderMarkdown('# <img src=x>\n\n`<b>`', String).html).not.toMatch(/<img|<b>/);
  });

  it('gives each heading an anchor of plain characters', () => {
    expect(anchorOf('ALL, ANY, NONE, AT_LEAST')).toBe('all-any-none-at-least');
  });
});

describe('a sample', () => {
  const path = filledPath('/sets/{id}/of/{requestId}', { id: 'holders' });
  const request = { method: 'PUT', path, body: { a: true, b: 'null', c: null } };
  const [curl, typescript, python] = samplesOf(request, { baseUrl: 'http://x', apiKey: 'k' });

  it('names the method, the filled path, the key and the body', () => {
    expect(curl?.code).toContain('curl -s -X PUT "http://x/sets/holders/of/REQUEST_ID"');
    expect(typescript?.code).toContain("method: 'PUT'");
    expect(typescript?.code).toContain("'x-api-key': 'k'");
  });

  it('writes the values of JSON as Python does, and leaves texts alone', () => {
    expect(python?.code).toContain('"a": True');
    expect(python?.code).toContain('"b": "null"');
    expect(python?.code).toContain('"c": None');
  });
});
