import { HOUR_MS } from '#shared/contracts/durations.ts';
import { describeError } from '#shared/errors.ts';
import { type Repetition, startRepeating } from '#shared/repeat.ts';
import type { ChainReports } from '#shared/stores/checks/chain-reports.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Chains } from '../chain/connect-chains.ts';

/** Of one round: an endpoint may have a rate of one call in some seconds. */
const CHECK_MS_MAX = HOUR_MS / 4;

type Dependencies = {
  readonly chains: Pick<Chains, 'check'>;
  readonly reports: Pick<ChainReports, 'save'>;
  readonly log: Logger;
  readonly stopping: AbortSignal;
};

/**
 * Checks every endpoint at the start and once an hour, logs what is found, and leaves it for the
 * operator's page. Nothing waits for it.
 */
export function startCheckingEndpoints(deps: Dependencies): Repetition {
  const { chains, reports, log, stopping } = deps;
  const check = async () => {
    const found = await chains.check(AbortSignal.any([stopping, AbortSignal.timeout(CHECK_MS_MAX)]));
    if (stopping.aborted) return;
    for (const { problems, ...report } of found)
      if (problems.length > 0) log.warn({ ...report, problems }, 'RPC endpoint has problems');
      else log.info(report, 'RPC endpoint has no problem');
    await reports.save(found);
  };
  return startRepeating(check, {
    intervalMs: HOUR_MS,
    startsAtOnce: true,
    onError: (error) => log.warn({ error: describeError(error) }, 'the RPC endpoints were not checked'),
  });
}
