import { isRuleFault, type UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';
import { type FaultKind, startRpcFaultProxy } from '../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains, type TestChains } from '../support/infrastructure/connect-test-chains.ts';
import type { Case } from './make-rules.ts';
import { CHAIN_ID } from './start-clients.ts';

/** The ways of reading, and the requests that an endpoint refuses so that nothing better is
 * left. */
export const WAYS = {
  reader: 'none',
  multicall3: 'no-override',
  plain: 'plain-calls-only',
} as const satisfies Record<string, FaultKind>;
export type Way = keyof typeof WAYS;

export type Outcome = 'granted' | 'denied' | UndeterminedCode;
export type Judged = { readonly case: Case; readonly outcomes: readonly Outcome[] };

/** Checks that run at the same time, so that their reads share calls as in a busy evaluator. */
const AT_ONCE = 8;
const ATTEMPT_TIMEOUT_MS = 30_000;
const EVALUATION_MS_MAX = 120_000;
/** The contract that keeps block hashes in state (EIP-2935), where a client has it. */
const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935';

/**
 * Makes the evaluator judge every case through an endpoint that leaves it one way of reading.
 *
 * @throws Error where a result is from another block than the oracle's, was read in another way, or
 *   does not say that its state is identified where the client keeps block hashes
 */
export async function judgeByWay(
  rpc: string,
  way: Way,
  cases: readonly Case[],
  registry: string,
): Promise<Judged[]> {
  await using proxy = await startRpcFaultProxy({ target: rpc });
  await proxy.setFault(WAYS[way]);
  await using chains = connectTestChains(
    [{ chainId: CHAIN_ID, urls: [proxy.url], delegateRegistry: registry }],
    {
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
      evaluationMsMax: EVALUATION_MS_MAX,
    },
  );
  const hasState = way !== 'plain' && (await keepsHashes(rpc));
  const judged: Judged[] = new Array(cases.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < cases.length; index = next++) {
      const one = cases[index] as Case;
      judged[index] = {
        case: one,
        outcomes: await judgeCase(chains, one, { way, hasState }, `app_${index}`),
      };
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return judged;
}

/** Whether the contract of EIP-2935 has the parent of the newest block. */
async function keepsHashes(rpc: string): Promise<boolean> {
  const head = await callJsonRpc(rpc, 'eth_getBlockByNumber', ['latest', false]);
  const { number, parentHash } = head as { readonly number: string; readonly parentHash: string };
  const data = `0x${(BigInt(number) - 1n).toString(16).padStart(64, '0')}`;
  const kept = await callJsonRpc(rpc, 'eth_call', [{ to: HISTORY, data }, number]).catch(() => undefined);
  return kept === parentHash;
}

async function judgeCase(
  chains: TestChains,
  { wallets, rules, target, block, isPast }: Case,
  { way, hasState }: { readonly way: Way; readonly hasState: boolean },
  clientId: string,
): Promise<Outcome[]> {
  const named = rules.map((rule, index) => ({ ...rule, roleId: String(index) }));
  const { accounts, vaults } = wallets;
  const [account = ''] = accounts;
  const group = {
    account,
    ...(accounts.length > 1 ? { accounts: [...accounts] } : {}),
    ...(vaults.length > 0 ? { vaults: [...vaults] } : {}),
  };
  const atBlock = isPast ? { [CHAIN_ID]: block.number } : undefined;
  const consistency = { blockTag: 'latest' as const, minBlock: {}, atBlock };
  const { roles, errors, blocks } = await chains.judge({ ...group, clientId, rules: named, consistency });
  const read = blocks[CHAIN_ID];
  const where = `${target} by ${way}`;
  if (read !== undefined && (read.number !== block.number || read.hash !== block.hash))
    throw new Error(
      `${where}: block ${read.number} ${read.hash} was read, not ${block.number} ${block.hash}`,
    );
  if (read !== undefined && read.proved !== (way !== 'plain'))
    throw new Error(`${where}: proved is ${read.proved}`);
  if (read !== undefined && (read.state ?? false) !== hasState)
    throw new Error(`${where}: state is ${read.state}`);
  const byIndex = new Map<string, Outcome>(
    roles.map(({ id, granted }) => [id, granted ? 'granted' : 'denied']),
  );
  for (const { ruleIndex, code } of errors.filter(isRuleFault)) byIndex.set(String(ruleIndex), code);
  return named.map(({ roleId }) => {
    const outcome = byIndex.get(roleId);
    if (outcome === undefined) throw new Error(`${where}: rule ${roleId} has no outcome`);
    return outcome;
  });
}
