import { describeError } from '#shared/errors.ts';
import { type Repetition, startRepeating } from '#shared/repeat.ts';
import type { ChainStates } from '#shared/stores/checks/chain-states.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Chains } from '../chain/connect-chains.ts';

/** Several reports fall into the time that one counts. */
const REPORT_INTERVAL_MS = 2_000;

/** Reports to the gateways which chains this process can read, of those it was asked for lately. */
export const startReportingChains = (
  chains: Pick<Chains, 'readable'>,
  states: Pick<ChainStates, 'report'>,
  log: Logger,
): Repetition =>
  startRepeating(() => states.report(chains.readable()), {
    intervalMs: REPORT_INTERVAL_MS,
    onError: (error) =>
      log.debug({ error: describeError(error) }, 'the states of the chains were not reported'),
  });
