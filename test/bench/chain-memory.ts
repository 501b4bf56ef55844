import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startChain } from '../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../deploy/local/settings/ports.ts';
import { connectTestChains } from '../support/infrastructure/connect-test-chains.ts';
import { newAccounts, readByRolecall } from './chain-readers.ts';
import type { Row, Table } from './row.ts';

const READS = 10_000_000;
const READS_PER_STEP = 1_000_000;
/** Reads per part: the measurement itself keeps one part in memory, and a block lasts for ten parts. */
const READS_PER_PART = 10_000;
const READS_PER_BLOCK = 100_000;
const READS_PER_CHECK = 100;
const MIB = 2 ** 20;
/** The first step to count: earlier ones warm up caches and code. */
const FIRST_STEP = 2;
/** Growth beyond this, from the second million to the last, is a leak. */
const GROWTH_MAX = 1.1;

type Sample = { readonly heapMiB: number; readonly rssMiB: number };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function takeSample(): Sample {
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  return { heapMiB: heapUsed / MIB, rssMiB: rss / MIB };
}

/** Reads ten million balances of new accounts over many blocks, and measures the memory. */
export async function benchChainMemory(): Promise<Table> {
  const [port = 0] = await findFreePorts(1);
  await using chain = await startChain({ port });
  const token = chain.erc20.toLowerCase();
  await using chains = connectTestChains([{ urls: [chain.rpc] }], { attemptTimeoutMs: 20_000 });
  const samples: Sample[] = [];
  for (let count = 0; count < READS; count += READS_PER_PART) {
    await readByRolecall(chains, token, newAccounts(READS_PER_PART), READS_PER_CHECK);
    if (count % READS_PER_BLOCK === 0) await callJsonRpc(chain.rpc, 'anvil_mine', ['0x1']);
    // The records of the test's own observer are not part of the chain layer's memory.
    chains.calls.length = 0;
    chains.batches.length = 0;
    if ((count + READS_PER_PART) % READS_PER_STEP === 0) {
      samples.push(takeSample());
      console.log(`  ${(count + READS_PER_PART) / 1e6} million reads`, samples.at(-1));
    }
  }
  const first = samples[FIRST_STEP - 1] as Sample;
  const last = samples.at(-1) as Sample;
  const isFlat = last.heapMiB <= first.heapMiB * GROWTH_MAX && last.rssMiB <= first.rssMiB * GROWTH_MAX;
  const row = (what: string, measured: number, before: number): Row => ({
    what,
    measured,
    unit: 'MiB',
    against: { what: `after ${FIRST_STEP} million`, measured: before },
    goal: { of: 'ratio', max: GROWTH_MAX },
  });
  return {
    title: `chain-memory: ${READS / 1e6} million reads of accounts that are always new`,
    rows: [row('heap', last.heapMiB, first.heapMiB), row('RSS', last.rssMiB, first.rssMiB)],
    notes: [
      isFlat ? 'Flat.' : 'NOT flat.',
      `Heap by million: ${samples.map(({ heapMiB }) => heapMiB.toFixed(0)).join(', ')} MiB; RSS: ${samples.map(({ rssMiB }) => rssMiB.toFixed(0)).join(', ')} MiB.`,
    ],
  };
}
