import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ChainFile, parseChainFile } from '#shared/contracts/chain-file.ts';
import { checkChains } from '../../../services/evaluator/chain/doctor/check-chains.ts';
import { faultProxies } from '../../support/fakes/chain-checks.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { runAdmin } from '../../support/systems/run-admin.ts';

// Scenario: an operator checks a chain file before any evaluator reads it. Some endpoints are well,
// others dead, of another chain, too slow, or less able.

const aProxy = faultProxies();
const TIMEOUT_MS = 1_000;

type EndpointSettings = { url: string } & Record<string, unknown>;
const aFile = (endpoints: readonly EndpointSettings[], chain: Record<string, unknown> = {}): ChainFile =>
  parseChainFile(
    JSON.stringify({
      chains: [{ chainId: 31_337, name: 'Demo', nativeSymbol: 'ETH', endpoints, ...chain }],
    }),
    {},
  );
const check = (file: ChainFile) => checkChains(file, { timeoutMs: TIMEOUT_MS });

test('an endpoint that is well has no problem, and the report says what it can do', async () => {
  const [report] = await check(aFile([{ url: infrastructure().rpcUrl, name: 'own node' }]));
  expect(report).toEqual({
    chainId: 31_337,
    endpoint: 0,
    name: 'own node',
    reachable: true,
    chainIdMatches: true,
    headAgeMs: expect.any(Number),
    tags: ['latest', 'safe', 'finalized'],
    archive: true,
    logRange: expect.any(Number),
    batchLimit: 1_000,
    method: 'reader',
    proved: true,
    state: expect.any(Boolean),
    problems: [],
  });
});

test('the reports are in the order of the file, and each problem begins with its place', async () => {
  const { rpcUrl } = infrastructure();
  const dead = 'http://127.0.0.1:9/v2/a-secret-key';
  const proxy = await aProxy();
  const reports = await check(
    aFile([{ url: dead }, { url: rpcUrl }, { url: proxy.url, maxCallsPerBatch: 30 }], { quorum: 3 }),
  );
  expect(reports.map(({ endpoint, reachable, batchLimit }) => [endpoint, reachable, batchLimit])).toEqual([
    [0, false, null],
    [1, true, 1_000],
    [2, true, 30],
  ]);
  expect(reports[0]?.problems).toEqual([
    expect.stringMatching(/^\/chains\/0\/endpoints\/0: the chain id cannot be read: nothing answers: /),
    '/chains/0/quorum: 3 endpoints must agree, and 2 can be read.',
  ]);
  expect(reports.slice(1).flatMap(({ problems }) => problems)).toEqual([]);
  expect(JSON.stringify(reports)).not.toContain('a-secret-key');
});

test('an endpoint of another chain, and a head that is too old, are told', async () => {
  const { rpcUrl } = infrastructure();
  const [other] = await check(aFile([{ url: rpcUrl }], { chainId: 5 }));
  expect(other).toMatchObject({ reachable: true, chainIdMatches: false, method: null });
  expect(other?.problems[0]).toBe(
    '/chains/0/endpoints/0/url: it serves chain 31337, not 5: correct its url.',
  );
  const [old] = await check(aFile([{ url: rpcUrl }], { maxHeadAgeMs: 1 }));
  expect(old?.problems).toEqual([expect.stringContaining('maxHeadAgeMs allows 1 ms')]);
});

test('an endpoint without state overrides and Multicall3 is read by plain calls, which prove no block', async () => {
  const proxy = await aProxy('plain-calls-only');
  const [report] = await check(aFile([{ url: proxy.url }]));
  expect(report).toMatchObject({ reachable: true, method: 'plain', proved: false, state: false });
  expect(report?.batchLimit).toBeGreaterThanOrEqual(1);
  expect(report?.problems).toEqual([expect.stringContaining('blocks are not proved')]);
});

test('how few logs an endpoint serves is told, and what follows', async () => {
  const none = await aProxy('no-logs');
  const few = await aProxy('ten-blocks-of-logs');
  const reports = await check(aFile([{ url: none.url }, { url: few.url }]));
  expect(reports.map(({ logRange }) => logRange)).toEqual([0, 10]);
  expect(reports.map(({ problems }) => problems)).toEqual([
    [expect.stringContaining('watches of this chain rely on their sweeps')],
    [expect.stringContaining('the logs of 10 blocks at a time')],
  ]);
});

test('an endpoint whose state is another than that of its block is told', async () => {
  const proxy = await aProxy('ignored-pin');
  const [report] = await check(aFile([{ url: proxy.url }]));
  expect(report).toMatchObject({ reachable: true, method: null });
  expect(report?.problems).toEqual([expect.stringContaining('another block than it was asked for')]);
});

test('an endpoint that hangs, refuses or answers nonsense ends its check with the reason', async () => {
  const cases = [
    ['hang', 'does not answer in time'],
    ['http-500', 'HTTP error'],
    ['http-429', 'set requestsPerSecond'],
    ['malformed', 'not that of an Ethereum node'],
    ['endless-body', 'correct its url'],
  ] as const;
  for (const [fault, told] of cases) {
    const proxy = await aProxy(fault);
    const [report] = await check(aFile([{ url: proxy.url }]));
    expect([fault, report?.reachable, report?.problems[0]]).toEqual([
      fault,
      false,
      expect.stringContaining(told),
    ]);
  }
});

test('a name that the environment lacks is one problem of its endpoint, which is not called', async () => {
  const { rpcUrl } = infrastructure();
  const missing: { pointer: string; name: string }[] = [];
  const text = JSON.stringify({
    chains: [
      {
        chainId: 31_337,
        name: 'Demo',
        nativeSymbol: 'ETH',
        endpoints: [{ url: 'https://rpc.example/${RPC_KEY}' }, { url: rpcUrl }],
      },
    ],
  });
  const file = parseChainFile(text, {}, { noteMissing: (pointer, name) => missing.push({ pointer, name }) });
  const [keyless, well] = await checkChains(file, { timeoutMs: TIMEOUT_MS, missing });
  expect(keyless?.problems).toEqual(['/chains/0/endpoints/0/url: the environment has no RPC_KEY: set it.']);
  expect(well?.problems).toEqual([]);
});

test('admin chains check prints one report for each endpoint, and exits with 1 for a file that cannot be read', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'doctor-'));
  const file = join(directory, 'chains.json');
  const endpoints = [{ url: '${DEMO_RPC}' }, { url: 'http://127.0.0.1:9', headers: { key: '${RPC_KEY}' } }];
  const chain = { chainId: 31_337, name: 'Demo', nativeSymbol: 'ETH', endpoints };
  writeFileSync(file, JSON.stringify({ chains: [chain] }));
  const env = { DEMO_RPC: infrastructure().rpcUrl };
  const { exitCode, stdout } = await runAdmin(['chains', 'check', file], { env });
  expect([exitCode, JSON.parse(stdout)]).toEqual([
    0,
    [
      expect.objectContaining({ endpoint: 0, method: 'reader', problems: [] }),
      expect.objectContaining({
        endpoint: 1,
        reachable: false,
        problems: ['/chains/0/endpoints/1/headers/key: the environment has no RPC_KEY: set it.'],
      }),
    ],
  ]);
  writeFileSync(file, JSON.stringify({ chains: [{ ...chain, rpc: 1 }] }));
  const refused = { exitCode: 1, value: { error: { code: 'config-invalid' } } };
  expect(await runAdmin(['chains', 'check', file], { env })).toMatchObject({
    ...refused,
    value: { error: { message: expect.stringContaining('/chains/0: Unrecognized key: "rpc"') } },
  });
  expect(await runAdmin(['chains', 'check', join(directory, 'none.json')])).toMatchObject(refused);
  rmSync(directory, { recursive: true });
});
