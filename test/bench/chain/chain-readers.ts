import { newTraceparent } from '#shared/telemetry/traceparent.ts';
import { LOCAL_CHAIN_ID as CHAIN_ID } from '../../../deploy/local/infrastructure/chain.ts';
import type { Call, Read } from '../../../services/evaluator/domain/read.ts';
import type { TestChains } from '../../support/infrastructure/connect-test-chains.ts';

/** Checks that are open at once in a backlog. */
export const CHECKS_AT_ONCE = 2_000;

let lastAccount = 2n ** 150n;
/** Accounts that were never read before, so that no cache helps. */
export const newAccounts = (count: number): string[] =>
  Array.from({ length: count }, () => {
    lastAccount += 1n;
    return `0x${lastAccount.toString(16).padStart(40, '0')}`;
  });

/** Processes items, this many at a time. */
export async function atOnce<T>(
  items: readonly T[],
  workers: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++] as T);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

/** The same balance read by a token rule, and by a rule on a view function. */
export const READS = {
  balance: (contract: string, account: string): Read => ({
    chainId: CHAIN_ID,
    kind: 'balance',
    contract,
    account,
    id: 0n,
    key: `${CHAIN_ID}/balance/${contract}/${account}`,
  }),
  call: (contract: string, account: string): Read => ({
    chainId: CHAIN_ID,
    kind: 'call',
    contract,
    account,
    id: 0n,
    call: BALANCE_OF,
    key: `${CHAIN_ID}/call/${contract}/${BALANCE_OF.id}/${account}`,
  }),
} as const;
const BALANCE_OF: Call = {
  calldata: `70a08231${'0'.repeat(64)}`,
  accountInputs: [0],
  word: 0,
  wordCount: 1,
  id: 'balanceOf',
};

/** Reads through our chain layer as checks do: many at once, each a few balances. Returns the
 * sum. */
export async function readByRolecall(
  chains: TestChains,
  token: string,
  accounts: string[],
  perCheck: number,
  kind: keyof typeof READS = 'balance',
): Promise<bigint> {
  let sum = 0n;
  const checks: Read[][] = [];
  for (let from = 0; from < accounts.length; from += perCheck)
    checks.push(accounts.slice(from, from + perCheck).map((account) => READS[kind](token, account)));
  const traceparent = newTraceparent();
  await atOnce(checks, CHECKS_AT_ONCE, async (reads) => {
    const observed = await chains.chains.performReads(new Map([[CHAIN_ID, reads]]), {
      lane: 'bulk',
      accountId: 'acc_1',
      clientId: 'app_1',
      consistency: { blockTag: 'latest', minBlock: {} },
      atOneInstant: new Set(),
      onWait: () => undefined,
      traceparent,
      // Each check has its own abort signal.
      signal: new AbortController().signal,
    });
    const answers = observed.get(CHAIN_ID)?.observations ?? [];
    if (answers.length !== reads.length) throw new Error('a balance is missing');
    for (const [answer] of answers) {
      if (!answer?.ok) throw new Error('a balance could not be read');
      sum += answer.value;
    }
  });
  return sum;
}
