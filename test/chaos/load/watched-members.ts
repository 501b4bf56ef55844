import { setTimeout as delay } from 'node:timers/promises';
import { Interface } from 'ethers';
import { sendTransaction } from '../../../deploy/local/demo/send-transaction.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { Rolecall } from '../../../shared/client/index.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks, type WebhookReceiver } from '../../support/fakes/receive-webhooks.ts';
import { makeChainOracle } from '../../support/judges/chain-oracle.ts';
import {
  judgeRevocations,
  judgeWatchEvents,
  readWatchEvent,
  type WatchEvent,
} from '../../support/judges/judge-watch-events.ts';
import type { Random } from '../../support/random.ts';
import { makeDemoTransfers } from '../../support/systems/demo-transfers.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { CHAINS } from '../system/chaos-chains.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';
import { createApp } from '../system/create-app.ts';

/** The shortest allowed interval. */
const SWEEP_SECONDS = 60;
/** Held revocations are tested by one row only. */
const HELD_NEVER = { share: 1, atLeast: 1_000 } as const;
const SETTLE_MS_MAX = 120_000;
const SETTLE_PAUSE_MS = 100;
const REQUEST_MS_MAX = 120_000;
const NATIVE_COIN = '0xde0b6b3a7640000';
/** No one has its key: tokens that are sent there are burnt. */
const BURNT = `0x${'dead'.padStart(40, '0')}`;
/** Blocks of the new fork beyond those that it replaces, so that it is the longer one. */
const FORK_LEAD = 2;

const mintable = new Interface(['function mint(address to, uint256 amount)']);
let walletCount = 0;

type Options = {
  readonly count: number;
  /** The harness's chain that the rule names; all of them are the same anvil. Default: the main
   * one. */
  readonly chainId?: number;
  readonly massRevocation?: { readonly share: number; readonly atLeast: number };
};

export type WatchedMembers = Awaited<ReturnType<typeof watchMembers>>;

/**
 * Members of a watch on the demo ERC20, with new wallets, and a record of how often the chain has
 * taken the role from each. At first the role needs one unit of the token.
 */
export async function watchMembers(
  system: ChaosSystem,
  scope: AsyncDisposableStack,
  { count, chainId = CHAINS.main, massRevocation = HELD_NEVER }: Options,
) {
  const { chain } = system;
  const app = await createApp(system, 'Watches');
  const receiver: WebhookReceiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
  const rolecall = new Rolecall({
    baseUrl: system.gateways[0]?.url ?? '',
    apiKey: app.apiKey,
    timeoutMs: REQUEST_MS_MAX,
  });
  const accounts = await makeWallets(chain.rpc, count);
  let units = 1;
  const ruleOf = () => {
    const minToken = (units / 10 ** chain.erc20Decimals).toFixed(chain.erc20Decimals);
    return { ...demoRules(chain).erc20({ roleId: 'holder', minToken }), chainId, type: 'ERC20' } as const;
  };
  const putRules = () =>
    rolecall.ruleSets.put('watched', { rules: [{ ...ruleOf(), contractAddress: chain.erc20 }] });

  const holds = accounts.map(() => false);
  const lostAt = new Map(accounts.map((_, i): [string, number[]] => [refOf(i), []]));
  /** Reads from the chain itself which members hold the role; only the named ones, if no other can
   * have changed. */
  const readTruth = async (some: readonly string[] = accounts): Promise<ReadonlyMap<string, boolean>> => {
    const block = Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', []));
    const oracle = makeChainOracle(chain.rpc, chain);
    await Promise.all(
      accounts.map(async (account, i) => {
        if (!some.includes(account)) return;
        const isHolder = (await oracle(ruleOf(), account, block)) === true;
        if (holds[i] && !isHolder) lostAt.get(refOf(i))?.push(block);
        holds[i] = isHolder;
      }),
    );
    return new Map(holds.map((isHolder, i) => [refOf(i), isHolder]));
  };

  const mint = (to: string) =>
    sendTransaction(chain.rpc, {
      from: chain.holder,
      to: chain.erc20,
      data: mintable.encodeFunctionData('mint', [to, 1]),
    });
  const events = (): WatchEvent[] => receiver.deliveries.flatMap(({ body }) => readWatchEvent(body) ?? []);

  await putRules();
  return {
    accounts,
    rolecall,
    events,
    /** Types of all messages so far. */
    types: (): string[] => receiver.deliveries.map(({ body }) => (JSON.parse(body) as { type: string }).type),
    readTruth,
    mint,
    async watch(): Promise<void> {
      await rolecall.watches.put('members', {
        ruleSet: 'watched',
        callbackUrl: receiver.url,
        everySeconds: SWEEP_SECONDS,
        massRevocation,
      });
      const entries = accounts.map((account, i) => ({ account, ref: refOf(i) }));
      await rolecall.watches.addMembers('members', entries);
    },
    state: () => rolecall.watches.get('members'),
    /** Sweeps now and waits until every member is checked: the next sweep is an interval away. */
    async sweep(): Promise<void> {
      const askedAt = new Date().toISOString();
      await rolecall.watches.check('members');
      const isSwept = async () => {
        for await (const { checkedAt = '' } of rolecall.watches.members('members'))
          if (checkedAt <= askedAt) return false;
        return true;
      };
      await waitUntil('every member to be checked by a sweep', isSwept, SETTLE_MS_MAX);
    },
    /** Sets how many units the role needs from now on. */
    async require(next: number): Promise<void> {
      units = next;
      await putRules();
      await readTruth();
    },
    /** Mints, burns or transfers once between members, at random. */
    async move(random: Random): Promise<void> {
      const [one, other] = [accounts[random.below(count)] ?? BURNT, accounts[random.below(count)] ?? BURNT];
      const balance = await balanceOf(chain.rpc, chain.erc20, one);
      if (balance === 0n) await mint(one);
      else await makeDemoTransfers(chain.rpc, one).erc20(random.below(2) === 0 ? BURNT : other);
      await readTruth([one, other]);
    },
    /** Drops the transactions of `during` by a reorg, with the blocks that follow: this many blocks
     * in all. */
    async reorg(depth: number, during: () => Promise<void>): Promise<void> {
      const snapshot = await callJsonRpc(chain.rpc, 'evm_snapshot', []);
      const before = Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', []));
      await during();
      const mined = Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', [])) - before;
      await mine(chain.rpc, Math.max(0, depth - mined));
      await readTruth();
      await callJsonRpc(chain.rpc, 'evm_revert', [snapshot]);
      await mine(chain.rpc, Math.max(depth, mined) + FORK_LEAD);
      await readTruth();
    },
    /** Waits until the last event of every member agrees with the chain; returns how long that
     * took, in s. */
    async untilRight(msMax = SETTLE_MS_MAX): Promise<number> {
      const sinceMs = Date.now();
      const truth = await readTruth();
      while (judgeWatchEvents(events(), truth).length > 0 && Date.now() - sinceMs < msMax)
        await delay(SETTLE_PAUSE_MS);
      return (Date.now() - sinceMs) / 1_000;
    },
    /** The faults in the events, once nothing moves. */
    async judge(): Promise<string[]> {
      const truth = await readTruth();
      return [...judgeWatchEvents(events(), truth), ...judgeRevocations(events(), lostAt)];
    },
  };
}

const refOf = (place: number): string => `m${place}`;

/** Wallets of this row only: the load's own wallets keep their tokens. */
async function makeWallets(rpc: string, count: number): Promise<string[]> {
  const wallets = Array.from(
    { length: count },
    () => `0x${(0xabc0000 + walletCount++).toString(16).padStart(40, '3')}`,
  );
  for (const wallet of wallets) {
    await callJsonRpc(rpc, 'anvil_setBalance', [wallet, NATIVE_COIN]);
    await callJsonRpc(rpc, 'anvil_impersonateAccount', [wallet]);
  }
  return wallets;
}

async function balanceOf(rpc: string, token: string, account: string): Promise<bigint> {
  const data = new Interface(['function balanceOf(address)']).encodeFunctionData('balanceOf', [account]);
  return BigInt(String(await callJsonRpc(rpc, 'eth_call', [{ to: token, data }, 'latest'])));
}

const mine = (rpc: string, blocks: number): Promise<unknown> =>
  blocks === 0 ? Promise.resolve() : callJsonRpc(rpc, 'anvil_mine', [`0x${blocks.toString(16)}`]);
