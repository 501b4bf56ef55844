import { randomBytes } from 'node:crypto';
import { Contract, JsonRpcProvider, Wallet } from 'ethers';
import { Client } from 'undici';
import { CHECK_PATH } from '#shared/contracts/paths.ts';
import { aSignIn } from '../../support/builders/a-sign-in.ts';
import type { DemoChain } from '../../support/builders/demo-rules.ts';
import { quantile } from '../../support/figures/quantile.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import { startBenchSystem } from '../system/bench-system.ts';
import { startChild } from '../system/start-child.ts';
import { makeWorkload, newPlaces, type Workload } from '../system/workload.ts';
import type { Goal, Row, Table } from '../table.ts';
import { PLAIN_KEY } from './checks.ts';

const WARM_UP_COUNT = 200;
const COUNT = 500;

/** What a client does, and is timed; what it needs is made before. */
type Side = (place: number) => Promise<() => Promise<void>>;

/** Measures the latency of a sync check over an idle system as its client sees it, beside calling
 * the chain directly and beside a server that does so. */
export async function benchLatency(): Promise<Table> {
  await using bench = await startBenchSystem();
  const { chain, ready } = bench.system;
  const [apiKey = ''] = await bench.makeApps(1);
  const url = ready.gateways[0] ?? '';
  const workload = await makeWorkload(chain, 3);
  await using plain = await startChild('checks/plain-server.ts', [
    bench.rpc,
    String(chain.chainId),
    PLAIN_KEY,
  ]);
  await using scope = new AsyncDisposableStack();
  const connect = (to: string) => scope.adopt(new Client(to), (client) => client.close());
  const times = await timesOf({
    sync: kept({ client: connect(url), apiKey }, workload),
    signedIn: signedIn({ client: connect(url), apiKey }, workload, { url, chainId: chain.chainId }),
    plain: kept({ client: connect(plain.url), apiKey: PLAIN_KEY }, workload),
    direct: direct(chain, workload),
    connecting: connecting({ url, apiKey }, workload),
    plainConnecting: connecting({ url: plain.url, apiKey: PLAIN_KEY }, workload),
  });
  const row = (
    what: string,
    share: number,
    [side, other]: readonly [keyof typeof times, keyof typeof times],
    than: string,
    goal?: Goal,
  ): Row => ({
    what: `${what}, p${share * 100}`,
    measured: quantile(times[side], share),
    unit: 'ms',
    against: { what: than, measured: quantile(times[other], share) },
    ...(goal && { goal }),
  });
  const more = (max: number): Goal => ({ of: 'difference', max });
  const sync = 'sync check of 3 rules over an idle system';
  return {
    title: 'latency: a sync check over an idle system, the chain beside it',
    rows: [
      row(sync, 0.5, ['sync', 'direct'], 'ethers, 3 × eth_call', more(3)),
      row(sync, 0.99, ['sync', 'direct'], 'ethers, 3 × eth_call', more(10)),
      row(sync, 0.5, ['sync', 'plain'], 'Express + ethers'),
      row(sync, 0.99, ['sync', 'plain'], 'Express + ethers'),
      row('the same with a new connection', 0.5, ['connecting', 'plainConnecting'], 'Express + ethers'),
      row('the same with a new connection', 0.99, ['connecting', 'plainConnecting'], 'Express + ethers'),
      row('the same with a sign-in by a key', 0.5, ['signedIn', 'sync'], 'without', more(0.3)),
      row('the same with a sign-in by a key', 0.99, ['signedIn', 'sync'], 'without'),
    ],
    notes: [
      `${COUNT} of each, in turn and one after another, after ${WARM_UP_COUNT} to warm up; every account is new.`,
      'From before the request is sent until the whole answer is there; nonces and signatures are made before.',
    ],
  };
}

type Connected = { readonly client: Client; readonly apiKey: string };

/** Sends a check, by a client that adds little to its time: `fetch` adds 0.5 to 1 ms. */
async function ask({ client, apiKey }: Connected, check: object): Promise<string> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  const body = JSON.stringify(check);
  const answer = await client.request({ method: 'POST', path: CHECK_PATH, headers, body });
  return answer.body.text();
}

/** A check over a connection that is kept. */
function kept(connected: Connected, workload: Workload): Side {
  const first = newPlaces(WARM_UP_COUNT + COUNT);
  return async (place) => async () =>
    workload.verify(first + place, await ask(connected, workload.checkAt(first + place)));
}

/** A check over a connection of its own. */
function connecting(
  { url, apiKey }: { readonly url: string; readonly apiKey: string },
  workload: Workload,
): Side {
  const first = newPlaces(WARM_UP_COUNT + COUNT);
  return async (place) => async () => {
    const client = new Client(url);
    workload.verify(first + place, await ask({ client, apiKey }, workload.checkAt(first + place)));
    await client.close();
  };
}

/** A check of a wallet that signs with its key. */
function signedIn(
  connected: Connected,
  workload: Workload,
  { url, chainId }: { readonly url: string; readonly chainId: number },
): Side {
  const nonces = makeCheckClient({ url, apiKey: connected.apiKey });
  return async () => {
    const wallet = new Wallet(`0x${randomBytes(32).toString('hex')}`);
    const nonce = (await nonces.nonce()) ?? '';
    const body = {
      account: wallet.address,
      rules: workload.checkAt(0).rules,
      signIn: [await aSignIn({ nonce, chainId }, wallet)],
    };
    return async () => {
      const text = await ask(connected, body);
      if (!text.includes('"outcome":"proved"')) throw new Error(`a sign-in was answered ${text}`);
      // It holds nothing, as every account but the first of ten.
      workload.verify(1, text);
    };
  };
}

/** The same balances by ethers, concurrently and unbatched, because batches would wait 10 ms. */
function direct(chain: DemoChain, workload: Workload): Side {
  const provider = new JsonRpcProvider(chain.rpc, chain.chainId, {
    batchMaxCount: 1,
    staticNetwork: true,
    cacheTimeout: -1,
  });
  const one = ['function balanceOf(address) view returns (uint256)'];
  const ofId = ['function balanceOf(address, uint256) view returns (uint256)'];
  const erc20 = new Contract(chain.erc20, one, provider).getFunction('balanceOf');
  const erc721 = new Contract(chain.erc721, one, provider).getFunction('balanceOf');
  const erc1155 = new Contract(chain.erc1155, ofId, provider).getFunction('balanceOf');
  return async (place) => async () => {
    const { account } = workload.checkAt(place);
    const balances = await Promise.all([erc20(account), erc721(account), erc1155(account, 7)]);
    if (account === chain.holder && balances[0] !== 1_500_500_000n) throw new Error('a balance is wrong');
  };
}

/** The durations of each side in ms, sorted. The sides take turns, so that all have the same
 * conditions. */
async function timesOf<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
): Promise<Record<Name, number[]>> {
  const named = Object.entries(sides) as [Name, Side][];
  const times = Object.fromEntries(named.map(([name]) => [name, []])) as unknown as Record<Name, number[]>;
  for (let place = 0; place < WARM_UP_COUNT + COUNT; place++)
    for (const [name, side] of named) {
      const act = await side(place);
      const began = performance.now();
      await act();
      if (place >= WARM_UP_COUNT) times[name].push(performance.now() - began);
    }
  for (const [name] of named) times[name].sort((a, b) => a - b);
  return times;
}
