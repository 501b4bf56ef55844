import { startRepeating } from '#shared/repeat.ts';
import { Rolecall } from '../../../shared/client/index.ts';
import { UNIT } from '../../providers/checks.ts';
import type { Move } from '../../providers/move-tokens.ts';
import type { Stage } from '../../providers/run-profiles.ts';
import type { Subject, Verdicts } from '../../providers/subject.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import type { TestCheck } from '../../support/infrastructure/connect-test-chains.ts';
import { makeChainOracle } from '../../support/judges/chain-oracle.ts';
import {
  judgeRevocations,
  judgeWatchEvents,
  readWatchEvent,
} from '../../support/judges/judge-watch-events.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';
import { createApp } from '../system/create-app.ts';
import { sumOf } from '../system/process-facts.ts';
import type { ProviderChain } from '../system/provider-chains.ts';

const REQUEST_MS_MAX = 120_000;
const STATE_POLL_MS = 2_000;
/** Nothing is held back: revocations that the chain never had must be seen. */
const HELD_NEVER = { share: 1, atLeast: 1_000 } as const;

/** The client apps of the row: one watches, two check, and one is hostile. */
export async function makeProviderClients(system: ChaosSystem, scope: AsyncDisposableStack) {
  const [url = ''] = system.gateways.map((gateway) => gateway.url);
  const watching = await createApp(system, 'Watches');
  const receiver = scope.use(await receiveWebhooks({ secret: watching.webhookSecret }));
  const rolecall = new Rolecall({ baseUrl: url, apiKey: watching.apiKey, timeoutMs: REQUEST_MS_MAX });
  const clientOf = async (name: string) =>
    makeCheckClient({ url, apiKey: (await createApp(system, name)).apiKey });
  const checking = {
    app_0: await clientOf('One'),
    app_1: await clientOf('Other'),
    app_hostile: await clientOf('Hostile'),
  };
  return { receiver, rolecall, checking, readMetrics: makeMetricsReader(system) };
}

/** Reads the metrics of all evaluators; chains that ask at the same time share an answer, which is
 * a large text. */
function makeMetricsReader(system: ChaosSystem): () => Promise<string[]> {
  const read = async (ops: string): Promise<string> =>
    (await fetch(`${ops}/metrics`, { signal: AbortSignal.timeout(REQUEST_MS_MAX) })).text();
  let reading: Promise<string[]> | undefined;
  return () => {
    reading ??= Promise.all(system.running('evaluator').map(({ ops }) => read(ops ?? ''))).finally(() => {
      reading = undefined;
    });
    return reading;
  };
}

type Clients = Awaited<ReturnType<typeof makeProviderClients>>;

/** A chain of a running system as a tested subject: checks by HTTP, and a watch whose members are
 * checked for transfers only. */
export async function useProviderChain(
  { receiver, rolecall, checking, readMetrics }: Clients,
  { chain, wallets: { accounts } }: Stage,
  { chainId, endpoints }: ProviderChain,
): Promise<Subject> {
  const name = `providers-${chainId}`;
  const refOf = (account: string) => `${chainId}/${account}`;
  const rule = demoRules({ ...chain, chainId }).erc20({ roleId: 'holder', minToken: UNIT });
  await rolecall.ruleSets.put(name, { rules: [{ ...rule, type: 'ERC20', contractAddress: chain.erc20 }] });
  await rolecall.watches.put(name, {
    ruleSet: name,
    callbackUrl: receiver.url,
    massRevocation: HELD_NEVER,
  });
  await rolecall.watches.addMembers(
    name,
    accounts.map((account) => ({ account, ref: refOf(account) })),
  );
  const contract = chain.erc20.toLowerCase();
  const shown: string[] = [];
  const look = async (): Promise<void> => {
    const [followed] = (await rolecall.watches.get(name)).following;
    if (followed === undefined) return;
    const text = followed.state === 'live' ? 'live' : `sweeps-only: ${followed.reason}`;
    if (shown.at(-1) !== text) shown.push(text);
  };
  const looking = startRepeating(() => look().catch(() => undefined), { intervalMs: STATE_POLL_MS });
  const oracle = makeChainOracle(chain.rpc, chain);
  const readTruth = async (): Promise<Map<string, boolean>> => {
    const { number } = chain.newest();
    const pairs = accounts.map(
      async (account): Promise<[string, boolean]> => [
        refOf(account),
        (await oracle(rule, account, number)) === true,
      ],
    );
    return new Map(await Promise.all(pairs));
  };
  const truthAfter = new WeakMap<readonly Move[], Promise<Map<string, boolean>>>();
  return {
    chainId,
    async judge(check) {
      const client = checking[check.clientId as keyof typeof checking];
      const body = bodyOf(check);
      const answer = await (check.lane === 'interactive' ? client.check(body) : client.checkAndWait(body));
      const { roles = [], errors = [], blocks = {} } = answer.body;
      const isAnswered = roles.length > 0 || errors.length > 0;
      return { roles, blocks, errors: isAnswered ? errors : [{ code: String(answer.status) }] } as Verdicts;
    },
    callCount: endpoints.callCount,
    async batchCount() {
      const counts = (await readMetrics()).map((text) =>
        sumOf(text, 'rolecall_reads_per_call_count', `chain_id="${chainId}"`),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async states() {
      await look();
      return new Map([[contract, shown]]);
    },
    async unnoticed(moves) {
      const truth = truthAfter.get(moves) ?? readTruth();
      truthAfter.set(moves, truth);
      const events = receiver.deliveries
        .flatMap(({ body }) => readWatchEvent(body) ?? [])
        .filter(({ ref }) => ref.startsWith(`${chainId}/`));
      const losses = moves.filter(({ isLoss }) => isLoss);
      const lostAt = Map.groupBy(losses, ({ account }) => refOf(account));
      const blocksOf = new Map([...lostAt].map(([ref, of]) => [ref, of.map((move) => move.blockNumber)]));
      const faults = [...judgeWatchEvents(events, await truth), ...judgeRevocations(events, blocksOf)];
      return faults.map((what) => ({ contract, what }));
    },
    async [Symbol.asyncDispose]() {
      await looking[Symbol.asyncDispose]();
      await rolecall.watches.delete(name);
    },
  };
}

/** The check as a client sends it. */
function bodyOf({ account, rules, consistency }: TestCheck): object {
  const { blockTag, minBlock = {}, atBlock } = consistency ?? {};
  return {
    account,
    rules,
    consistency: {
      ...(blockTag === 'latest' || blockTag === undefined ? {} : { blockTag }),
      ...(Object.keys(minBlock).length > 0 ? { minBlock } : {}),
      ...(atBlock === undefined ? {} : { atBlock }),
    },
  };
}
