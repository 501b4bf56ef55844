import type { EndpointReport } from '#shared/contracts/chain-report.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { describeError } from '#shared/errors.ts';
import { type Repetition, startRepeating } from '#shared/repeat.ts';
import type { ChainReports } from '#shared/stores/checks/chain-reports.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Chains } from '../chain/connect-chains.ts';

const CHECK_INTERVAL_MS = HOUR_MS;
/** Of one round: an endpoint may have a rate of one call in some seconds. */
const CHECK_MS_MAX = HOUR_MS / 4;
/** How often it is looked whether a check is due, because it failed or Redis has lost its report,
 * or whether a report is to be saved that could not be: each check costs dozens of calls. */
const LOOK_INTERVAL_MS = 60_000;

type Dependencies = {
  readonly chains: Pick<Chains, 'check'>;
  readonly reports: Pick<ChainReports, 'read' | 'save'>;
  readonly log: Logger;
  readonly stopping: AbortSignal;
};

/**
 * Checks every endpoint at the start, once an hour, and when the last report is gone, logs what is
 * found, and leaves it for the operator's page. Nothing waits for it.
 */
export function startCheckingEndpoints(deps: Dependencies): Repetition {
  const { chains, reports, log, stopping } = deps;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let unsaved: readonly EndpointReport[] | undefined;
  const checkIfDue = async () => {
    const isDue = performance.now() - checkedAtMs >= CHECK_INTERVAL_MS;
    if (isDue || (unsaved === undefined && (await reports.read()).length === 0)) {
      unsaved = await chains.check(AbortSignal.any([stopping, AbortSignal.timeout(CHECK_MS_MAX)]));
      if (stopping.aborted) return;
      checkedAtMs = performance.now();
      for (const { problems, ...report } of unsaved)
        if (problems.length > 0) log.warn({ ...report, problems }, 'RPC endpoint has problems');
        else log.info(report, 'RPC endpoint has no problem');
    }
    if (unsaved === undefined) return;
    await reports.save(unsaved);
    unsaved = undefined;
  };
  return startRepeating(checkIfDue, {
    intervalMs: LOOK_INTERVAL_MS,
    startsAtOnce: true,
    onError: (error) => log.warn({ error: describeError(error) }, 'the RPC endpoints were not checked'),
  });
}
