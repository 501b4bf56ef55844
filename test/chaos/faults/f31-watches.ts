import { setTimeout as delay } from 'node:timers/promises';
import { AbiCoder, keccak256 } from 'ethers';
import { callJsonRpc } from '../../../deploy/local/json-rpc.ts';
import { Rolecall } from '../../../shared/client/index.ts';
import { makeDemoTransfers } from '../../support/demo-transfers.ts';
import { judgeWatchEvents, readWatchEvent, type WatchEvent } from '../../support/judge-watch-events.ts';
import { receiveWebhooks } from '../../support/receive-webhooks.ts';
import type { ChaosSystem } from '../chaos-system.ts';
import type { Fault } from '../fault.ts';
import { atMost } from '../measure.ts';
import { createApp } from '../parts/create-app.ts';

const MEMBERS = 100;
const VICTIMS = [
  'watcher',
  'evaluator',
  'result-store',
  'webhook-dispatcher',
  'gateway',
  'redis',
  'kafka',
] as const;
const SWEEP_SECONDS = 60;
const HELD_AT_LEAST = 1_000;
const MOVES_PAUSE_MS = 100;
const KILL_EVERY_MS = 8_000;
const SETTLE_MS_MAX = 120_000;
const SETTLE_PAUSE_MS = 500;

export const f31Watches: Fault = {
  id: 'F31',
  title: 'each process killed while the tokens of watched members move, broker and Redis too',
  async run({ system, random, scope }) {
    const app = await createApp(system, 'Watches');
    const receiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
    const events = (): WatchEvent[] => receiver.deliveries.flatMap(({ body }) => readWatchEvent(body) ?? []);
    const wallets = await makeWallets(system);
    const rolecall = new Rolecall({
      baseUrl: system.gateways[0]?.url ?? '',
      apiKey: app.apiKey,
      timeoutMs: SETTLE_MS_MAX,
    });
    await watchWallets(rolecall, system, wallets, receiver.url);
    const held = new Set<string>();
    for (const victim of VICTIMS) {
      system.signal(victim, 'SIGKILL', 0);
      await moveTokens(system, wallets, held, random, KILL_EVERY_MS);
      await system.untilWhole();
    }
    const settlingMs = Date.now();
    const truth = new Map(wallets.members.map((wallet, i) => [refOf(i), held.has(wallet)]));
    const endMs = settlingMs + SETTLE_MS_MAX;
    while (judgeWatchEvents(events(), truth).length > 0 && Date.now() < endMs) await delay(SETTLE_PAUSE_MS);
    const settledS = (Date.now() - settlingMs) / 1_000;
    return () => ({
      figures: [atMost('last move to a right last event', settledS, 30, 's')],
      broken: judgeWatchEvents(events(), truth),
    });
  },
};

const refOf = (place: number): string => `m${place}`;

type Wallets = { readonly bank: string; readonly members: readonly string[] };

/** Wallets of the row's own: the load's own wallets keep what they have. */
async function makeWallets({ chain }: ChaosSystem): Promise<Wallets> {
  const wallet = (n: number) => `0x${(0xabc0000 + n).toString(16).padStart(40, '3')}`;
  const members = Array.from({ length: MEMBERS }, (_, i) => wallet(i));
  const bank = wallet(MEMBERS);
  // The balances of an OpenZeppelin ERC20 are the mapping in slot 0.
  const slot = keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'uint256'], [bank, 0]));
  const much = `0x${(10n ** 18n).toString(16).padStart(64, '0')}`;
  await callJsonRpc(chain.rpc, 'anvil_setStorageAt', [chain.erc20, slot, much]);
  for (const each of [bank, ...members]) {
    await callJsonRpc(chain.rpc, 'anvil_setBalance', [each, '0xde0b6b3a7640000']);
    await callJsonRpc(chain.rpc, 'anvil_impersonateAccount', [each]);
  }
  return { bank, members };
}

async function watchWallets(
  rolecall: Rolecall,
  { chain }: ChaosSystem,
  { members }: Wallets,
  callbackUrl: string,
): Promise<void> {
  // One unit of the token: what `makeDemoTransfers` moves.
  const minToken = (1 / 10 ** chain.erc20Decimals).toFixed(chain.erc20Decimals);
  const rule = {
    type: 'ERC20',
    chainId: chain.chainId,
    contractAddress: chain.erc20,
    roleId: 'holder',
    minToken,
  } as const;
  await rolecall.ruleSets.put('watched', { rules: [rule] });
  await rolecall.watches.put('members', {
    ruleSet: 'watched',
    callbackUrl,
    everySeconds: SWEEP_SECONDS,
    // What is held back is another row's matter.
    massRevocation: { share: 1, atLeast: HELD_AT_LEAST },
  });
  await rolecall.watches.addMembers(
    'members',
    members.map((account, i) => ({ account, ref: refOf(i) })),
  );
}

/** Gives a token to a member without one, or takes it back, at random. */
async function moveTokens(
  { chain }: ChaosSystem,
  { bank, members }: Wallets,
  held: Set<string>,
  random: { readonly below: (n: number) => number },
  forMs: number,
): Promise<void> {
  const endMs = Date.now() + forMs;
  while (Date.now() < endMs) {
    const member = members[random.below(members.length)] ?? bank;
    const isHolder = held.has(member);
    const [from, to] = isHolder ? [member, bank] : [bank, member];
    await makeDemoTransfers(chain.rpc, from).erc20(to);
    if (isHolder) held.delete(member);
    else held.add(member);
    await delay(MOVES_PAUSE_MS);
  }
}
