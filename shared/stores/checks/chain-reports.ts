import { z } from 'zod';
import { EndpointReport } from '#shared/contracts/chain-report.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';

const KEY = 'chain-reports';
/** Evaluators report once an hour: older reports are of chains that are no longer configured, or of
 * evaluators that are gone. */
const KEPT_MS = 3 * HOUR_MS;

const ChainReport = z.object({ at: z.iso.datetime(), endpoints: z.array(EndpointReport) });
export type ChainReport = z.infer<typeof ChainReport> & { readonly chainId: number };

/**
 * What evaluators found out about the endpoints of the chain file: the last report of each chain. A
 * hint for operators, so nothing restores it.
 */
export function makeChainReports(redis: Redis, now: () => number) {
  return {
    async save(reports: readonly EndpointReport[]): Promise<void> {
      const at = new Date(now()).toISOString();
      const byChain = Map.groupBy(reports, ({ chainId }) => chainId);
      const texts = [...byChain].map(([chainId, endpoints]): [string, string] => [
        String(chainId),
        JSON.stringify({ at, endpoints } satisfies z.input<typeof ChainReport>),
      ]);
      if (texts.length === 0) return;
      await inStore(() => redis.hset(KEY, new Map(texts)));
      await inStore(() => redis.pexpire(KEY, KEPT_MS));
    },
    async read(): Promise<ChainReport[]> {
      const stored = Object.entries(await inStore(() => redis.hgetall(KEY)));
      return stored
        .map(([chainId, text]) => ({ chainId: Number(chainId), ...ChainReport.parse(JSON.parse(text)) }))
        .filter(({ at }) => Date.parse(at) > now() - KEPT_MS)
        .sort((a, b) => a.chainId - b.chainId);
    },
  };
}

export type ChainReports = ReturnType<typeof makeChainReports>;
