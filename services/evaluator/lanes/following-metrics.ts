import { Counter, Gauge } from 'prom-client';
import type { Registry } from '#shared/telemetry/metrics.ts';
import type { FollowerObserver } from '../chain/logs/follow-chain.ts';

/** Results of a read whose series exist from the start. */
const USUAL_RESULTS = ['ok', 'timeout', 'unreachable', 'rate-limited', 'rpc-error', 'too-many-logs'];

export type FollowingMetrics = {
  /** Creates the series of a chain: `rate()` misses the event that creates a series. */
  readonly expectChain: (chainId: number) => void;
  readonly observerOf: (chainId: number) => Omit<FollowerObserver, 'onError'>;
  readonly onPublished: (chainId: number, count: number) => void;
  readonly onLease: (chainId: number, isHeld: boolean) => void;
};

/** The metrics of following transfers. */
export function makeFollowingMetrics(registers: Registry[]): FollowingMetrics {
  const counter = (name: string, help: string, labels: string[] = []) =>
    new Counter({ name, help, labelNames: ['chain_id', ...labels], registers });
  const reads = counter(
    'rolecall_log_reads_total',
    'Reads of the transfer logs of watched contracts, by result.',
    ['result'],
  );
  const logs = counter(
    'rolecall_transfer_logs_total',
    'Transfer logs of watched contracts that were read, whether or not they name a member.',
  );
  const published = counter(
    'rolecall_transfers_published_total',
    'Transfers that name a wallet of a watched member, and gaps.',
  );
  const reorgs = counter('rolecall_reorgs_total', 'Reorgs that replaced blocks whose logs had been read.');
  const gaps = counter(
    'rolecall_log_gaps_total',
    'Contracts whose logs were not read for some blocks, so that all members are due.',
  );
  const lag = new Gauge({
    name: 'rolecall_log_block_lag',
    help: 'Blocks between the last block whose logs were read and the head, before the last read.',
    labelNames: ['chain_id'],
    registers,
  });
  const state = new Gauge({
    name: 'rolecall_log_reader_state',
    help: '1 where this process reads the transfer logs of the chain, otherwise 0.',
    labelNames: ['chain_id'],
    registers,
  });
  return {
    expectChain(chainId) {
      const chain_id = String(chainId);
      for (const result of USUAL_RESULTS) reads.inc({ chain_id, result }, 0);
      for (const each of [logs, published, reorgs, gaps]) each.inc({ chain_id }, 0);
      for (const each of [lag, state]) each.set({ chain_id }, 0);
    },
    observerOf(chainId) {
      const chain_id = String(chainId);
      return {
        onRead(result, logCount) {
          reads.inc({ chain_id, result });
          logs.inc({ chain_id }, logCount);
        },
        onReorg: () => reorgs.inc({ chain_id }),
        onGap: (contractCount) => gaps.inc({ chain_id }, contractCount),
        onBehind: (blockCount) => lag.set({ chain_id }, blockCount),
      };
    },
    onPublished: (chainId, count) => published.inc({ chain_id: String(chainId) }, count),
    onLease: (chainId, isHeld) => state.set({ chain_id: String(chainId) }, isHeld ? 1 : 0),
  };
}
