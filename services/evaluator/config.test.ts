import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readChainFile } from '#shared/read-chain-file.ts';
import { loadConfig, loadSecrets, warningsOf } from './config.ts';

/** As an operator writes it; in two parts, because it is not a template of ours. */
const KEY_NAME = ['$', '{RPC_KEY}'].join('');
const KEY = 'k3y-that-nobody-may-see';
let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'rolecall-evaluator-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

function aChainFile(chains: unknown): string {
  const path = join(dir, 'chains.json');
  writeFileSync(path, JSON.stringify({ chains }));
  return path;
}
const aChain = (url: string) => ({ chainId: 1, name: 'Ethereum', nativeSymbol: 'ETH', endpoints: [{ url }] });

test('every wrong variable is named, and no value', () => {
  const env = { CHAINS_FILE: '', EVALUATOR_WINDOW: KEY, RPC_ATTEMPT_TIMEOUT_MS: '1' };
  expect(() => loadConfig(env)).toThrow(/CHAINS_FILE.*\n.*EVALUATOR_WINDOW.*\n.*RPC_ATTEMPT_TIMEOUT_MS/);
  expect(() => loadConfig(env)).not.toThrow(KEY);
});

test('an attempt that is longer than the whole evaluation is refused', () => {
  const env = { CHAINS_FILE: 'chains.json', RPC_ATTEMPT_TIMEOUT_MS: '5000', EVALUATION_DEADLINE_MS: '4000' };
  expect(() => loadConfig(env)).toThrow('RPC_ATTEMPT_TIMEOUT_MS');
});

test('the default timeout of an attempt is 3 s, or the whole evaluation if that is shorter', () => {
  const env = { CHAINS_FILE: 'chains.json' };
  expect(loadConfig(env).attemptTimeoutMs).toBe(3_000);
  expect(loadConfig({ ...env, EVALUATION_DEADLINE_MS: '2000' }).attemptTimeoutMs).toBe(2_000);
});

test('no evaluation takes so long that its consumer counts as stuck', () => {
  const env = { CHAINS_FILE: 'chains.json' };
  expect(loadConfig(env).livenessStallMs).toBe(240_000);
  expect(loadConfig({ ...env, EVALUATION_DEADLINE_MS: '600000' }).livenessStallMs).toBe(750_000);
});

test('a shutdown timeout below one attempt causes a warning, and the defaults cause none', () => {
  const env = { CHAINS_FILE: 'chains.json' };
  expect(warningsOf(loadConfig(env))).toEqual([]);
  const short = loadConfig({ ...env, SHUTDOWN_TIMEOUT_MS: '4000' });
  expect(warningsOf(short)).toEqual([expect.stringMatching(/SHUTDOWN_TIMEOUT_MS.*RPC_ATTEMPT_TIMEOUT_MS/)]);
});

test('a name in the chain file is replaced from the environment', () => {
  const path = aChainFile([aChain(`https://rpc.example/${KEY_NAME}`)]);
  expect(readChainFile(path, { RPC_KEY: KEY }).chains[0]?.endpoints[0]?.url).toBe(
    `https://rpc.example/${KEY}`,
  );
});

test('a process that calls no endpoint needs no key, and has all other names replaced', () => {
  const path = aChainFile([{ ...aChain(`https://rpc.example/${KEY_NAME}`), name: '${CHAIN_NAME}' }]);
  const { chains } = readChainFile(path, { CHAIN_NAME: 'Mine' }, { keepsEndpoints: true });
  expect(chains[0]).toMatchObject({ name: 'Mine', endpoints: [{ url: `https://rpc.example/${KEY_NAME}` }] });
  expect(() => readChainFile(path, {}, { keepsEndpoints: true })).toThrow(
    'the environment has no CHAIN_NAME',
  );
});

test.each([
  ['a name that the environment lacks', `https://rpc.example/${KEY_NAME}`, {}, 'RPC_KEY'],
  ['no URL', KEY_NAME, { RPC_KEY: KEY }, '/chains/0/endpoints/0/url'],
  ['another scheme', `wss://rpc.example/${KEY_NAME}`, { RPC_KEY: KEY }, '/chains/0/endpoints/0/url'],
])('%s is refused by its place, and the message has no key', (_, url, env, told) => {
  const path = aChainFile([aChain(url)]);
  expect(() => readChainFile(path, env)).toThrow(told);
  expect(() => readChainFile(path, env)).not.toThrow(KEY);
});

test.each([
  [
    'a chain twice',
    [aChain('http://a'), aChain('http://a')],
    '/chains/1/chainId: each chain may be listed once',
  ],
  [
    'a quorum above the number of endpoints',
    [{ ...aChain('http://a'), quorum: 2 }],
    '/chains/0/quorum: must be at most the number of endpoints, 1',
  ],
  [
    'a chain without a name',
    [{ ...aChain('http://a'), name: undefined }],
    '/chains/0/name: Invalid input: expected string',
  ],
  ['an unknown member', [{ ...aChain('http://a'), rpc: KEY }], '/chains/0: Unrecognized key: "rpc"'],
])('%s is refused with the place and the fault, and no value', (_, chains, message) => {
  const path = aChainFile(chains);
  expect(() => readChainFile(path, {})).toThrow(message);
  expect(() => readChainFile(path, {})).not.toThrow(KEY);
});

test('every name that the environment lacks is told in one line, each once and by its place', () => {
  const path = aChainFile([{ ...aChain('http://a/${ONE}'), quorum: 2 }, aChain('http://b/${ONE}/${TWO}')]);
  let message = '';
  try {
    readChainFile(path, {});
  } catch (error) {
    message = (error as Error).message;
  }
  expect(message).not.toContain('\n');
  expect(message).toContain(
    'the chain file has faults: /chains/0/endpoints/0/url: the environment has no ONE; /chains/1/endpoints/0/url: the environment has no TWO; /chains/0/quorum',
  );
});

test('names of endpoints are no numbers, and no two of a chain are equal', () => {
  const named = (...names: string[]) =>
    aChainFile([
      { ...aChain('http://a'), endpoints: names.map((name, at) => ({ url: `http://a/${at}`, name })) },
    ]);
  expect(readChainFile(named('Alchemy', 'own node'), {}).chains[0]?.endpoints[1]?.name).toBe('own node');
  for (const name of ['1', '', 'a\nb', 'x'.repeat(65)])
    expect(() => readChainFile(named(name), {})).toThrow('/chains/0/endpoints/0/name');
  expect(() => readChainFile(named('a', 'b', 'a'), {})).toThrow(
    '/chains/0/endpoints: two endpoints are named a',
  );
});

test.each([
  ['the same text', `http://a.example/${KEY}`, `http://a.example/${KEY}`],
  ['a trailing slash', 'http://a.example', 'http://a.example/'],
  ['the default port', 'http://a.example', 'http://a.example:80/'],
  ['upper case in the host', 'https://A.example/x', 'https://a.example/x'],
  ['dots in the path', 'http://a.example/x', 'http://a.example/y/../x'],
  ['a fragment', 'http://a.example/x', 'http://a.example/x#2'],
  ['a name of the environment', 'http://a.example/${ONE}', 'http://a.example/${TWO}'],
  ['the same name', '${URL}', '${URL}'],
])('one URL written twice, with %s, is no second endpoint', (_, one, two) => {
  const env = { ONE: KEY, TWO: KEY, URL: `https://a.example/${KEY}` };
  const endpoints = [{ url: one }, { url: 'http://b.example' }, { url: two }];
  const path = aChainFile([{ ...aChain(''), endpoints, quorum: 2 }]);
  const read = () => readChainFile(path, env);
  expect(read).toThrow(
    '/chains/0/endpoints/2/url: must differ from the URL of /chains/0/endpoints/0: one endpoint listed twice confirms nothing',
  );
  expect(read).not.toThrow(KEY);
});

test('URLs that differ in their path or query are two endpoints, and two chains may share one', () => {
  const chains = [1, 2].map((chainId) => ({
    ...aChain(''),
    chainId,
    endpoints: ['http://a/x', 'http://a/y', 'http://a/x?key=1', 'https://a/x'].map((url) => ({ url })),
  }));
  expect(readChainFile(aChainFile(chains), {}).chains.map(({ endpoints }) => endpoints.length)).toEqual([
    4, 4,
  ]);
});

test('an unreadable chain file is reported by its path', () => {
  expect(() => readChainFile(join(dir, 'nowhere.json'), {})).toThrow('nowhere.json cannot be read');
});

test('PUBLIC_BASE_URL loses the slash at its end, as at the gateway', () => {
  const addressOf = (env: Record<string, string>) =>
    loadConfig({ CHAINS_FILE: 'chains.json', ...env }).publicBaseUrl;
  expect(addressOf({ PUBLIC_BASE_URL: 'https://api.example/rolecall/' })).toBe(
    'https://api.example/rolecall',
  );
  expect(addressOf({})).toBe('');
});

test('a name in the chain file and the proof keys may come from files', () => {
  const file = join(dir, 'rpc-key');
  writeFileSync(file, `${KEY}\n`);
  const path = aChainFile([aChain(`http://rpc.example/${KEY_NAME}`)]);
  expect(readChainFile(path, { RPC_KEY_FILE: file }).chains[0]?.endpoints[0]?.url).toBe(
    `http://rpc.example/${KEY}`,
  );
  const both = () => readChainFile(path, { RPC_KEY_FILE: file, RPC_KEY: 'other' });
  expect(both).toThrow(/RPC_KEY, RPC_KEY_FILE: set one of them/);
  const ring = join(dir, 'proof-keys');
  writeFileSync(ring, `1:${Buffer.alloc(32, 7).toString('base64')}\n`);
  expect(loadSecrets({ CHAINS_FILE: path, ROLECALL_PROOF_KEYS_FILE: ring }).proofKeys?.current.number).toBe(
    1,
  );
});
