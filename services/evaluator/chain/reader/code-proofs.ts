import { LRUCache } from 'lru-cache';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { Read } from '../../domain/read.ts';
import { type Block, blockParameter } from '../blocks/block.ts';
import type { Callable } from '../endpoints/endpoint.ts';
import type { RpcOutcome, RpcRequest } from '../rpc/connect-rpc.ts';
import { RpcFailure } from '../rpc/rpc-failure.ts';

/** Calls of one JSON-RPC batch: the smallest limit among the well-known providers. */
const CALLS_PER_BATCH_MAX = 100;
/** Contracts remembered at a time; the least recently used is evicted first. */
const CONTRACTS_MAX = 20_000;
/**
 * How long a contract's code is not checked again. An address that had code is not a precompile, and a contract that lost
 * its code gives an empty answer, which is detected; so this bounds only how long a wrong answer is trusted.
 */
const CODE_TTL_MS = HOUR_MS;

/**
 * Checks which contracts have code, for the read methods that cannot detect it: a precompile has none but still answers
 * (SHA-256 at `0x…02` returns 32 bytes for any input). Only code that was seen is remembered, for the blocks from there
 * on: an earlier block may be from before the deployment. It is remembered separately for each endpoint, so that a quorum
 * never depends on the answer of a single endpoint.
 */
export class CodeProofs {
  /** The number of the lowest block at which the code was seen. */
  readonly #seen: LRUCache<string, number>;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number) {
    this.#seen = new LRUCache({ max: CONTRACTS_MAX, ttl: CODE_TTL_MS, perf: { now: monotonicMs } });
  }

  /**
   * Returns the contracts of these reads that have no code at the block.
   *
   * @throws RpcFailure
   */
  async findAbsent(
    endpointName: string,
    callable: Callable,
    block: Block,
    reads: readonly Read[],
    pin: 'hash' | 'number',
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const keyOf = (contract: string) => `${endpointName}/${contract}`;
    const isProved = (contract: string) =>
      block.number >= (this.#seen.get(keyOf(contract)) ?? Number.POSITIVE_INFINITY);
    const asked = new Set<string>();
    for (const { kind, contract } of reads) if (kind !== 'native' && !isProved(contract)) asked.add(contract);
    const at = blockParameter(block, pin);
    const requests = [...asked].map((contract) => ({
      method: 'eth_getCode',
      params: `["${contract}",${at}]`,
    }));
    const codes = await callAll(callable, requests, signal);
    const absent = new Set<string>();
    for (const [index, contract] of [...asked].entries()) {
      if (codes[index] === '0x') absent.add(contract);
      else this.#seen.set(keyOf(contract), block.number);
    }
    return absent;
  }
}

async function callAll(
  endpoint: Callable,
  requests: readonly RpcRequest[],
  signal: AbortSignal,
): Promise<unknown[]> {
  const codes: unknown[] = [];
  for (let from = 0; from < requests.length; from += CALLS_PER_BATCH_MAX)
    codes.push(
      ...(await endpoint.use(signal, async (rpc) =>
        (
          await rpc.callMany(requests.slice(from, from + CALLS_PER_BATCH_MAX), signal)
        )
          .map(resultOf)
          .map(requireCode),
      )),
    );
  return codes;
}

function resultOf(outcome: RpcOutcome): unknown {
  if (!outcome.ok) throw outcome.failure;
  return outcome.result;
}

function requireCode(code: unknown): string {
  if (typeof code !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(code)) throw new RpcFailure('malformed');
  return code;
}
