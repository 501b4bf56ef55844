import { z } from 'zod';
import {
  commonConfig,
  commonEnvironment,
  type Environment,
  emptyIsAbsent,
  integer,
  integerWithin,
  keyRing,
  loadEnvironment,
  publicBaseUrl,
  secret,
  withoutEndSlash,
} from '#shared/config.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KeyRing } from '#shared/secret-box.ts';

const EvaluatorEnvironment = z.object({
  ...commonEnvironment,
  CHAINS_FILE: z.string().min(1),
  EVALUATION_DEADLINE_MS: integer({ min: 1_000, max: 600_000, default: 30_000 }),
  EVALUATOR_WINDOW: integer({ min: 1, max: 10_000, default: 2_000 }),
  RPC_ATTEMPT_TIMEOUT_MS: integerWithin({ min: 50, max: 60_000 }).optional(),
  PUBLIC_BASE_URL: publicBaseUrl(),
  ROLECALL_PROOF_KEYS: secret(emptyIsAbsent(keyRing())),
});

/** Kept apart from the configuration, which may be logged. */
type EvaluatorSecrets = {
  /** Absent: this process signs no verdicts. */
  readonly proofKeys: KeyRing | undefined;
};

/**
 * Parts of batches that run at once, of which an app alone has three: while one is read from the
 * chain another is judged. Parked parts come on top.
 */
const PARTS_MAX = 12;

/**
 * How many checks may wait for one chain, in windows of a lane; an app alone may have half a
 * window. Waiting checks are parked outside the window. The parking area holds four windows: those
 * of other chains, and checks that wait for their reads, still fit.
 */
const WAITING_WINDOWS = 2;

/** The default of RPC_ATTEMPT_TIMEOUT_MS, unless the whole evaluation is shorter. */
const ATTEMPT_TIMEOUT_MS = 3_000;

/** @throws ServiceError `config-invalid` */
export function loadConfig(env: Environment) {
  const parsed = loadEnvironment(EvaluatorEnvironment, env);
  const attemptTimeoutMs =
    parsed.RPC_ATTEMPT_TIMEOUT_MS ?? Math.min(ATTEMPT_TIMEOUT_MS, parsed.EVALUATION_DEADLINE_MS);
  if (attemptTimeoutMs > parsed.EVALUATION_DEADLINE_MS)
    throw new ServiceError('config-invalid', 'RPC_ATTEMPT_TIMEOUT_MS must be at most EVALUATION_DEADLINE_MS');
  return {
    ...commonConfig(parsed, parsed.EVALUATION_DEADLINE_MS),
    chainsFile: parsed.CHAINS_FILE,
    /** Time limit of an asynchronous check, from the start of its evaluation. */
    evaluationMsMax: parsed.EVALUATION_DEADLINE_MS,
    /** Checks of one lane that are evaluated at once. */
    window: parsed.EVALUATOR_WINDOW,
    partsMax: PARTS_MAX,
    /** Time limit of one attempt at one endpoint. */
    attemptTimeoutMs,
    waitingMax: parsed.EVALUATOR_WINDOW * WAITING_WINDOWS,
    /** The gateway's, without a slash at its end; empty if it is not set. */
    publicBaseUrl: withoutEndSlash(parsed.PUBLIC_BASE_URL),
  };
}

/** @throws ServiceError `config-invalid` */
export function loadSecrets(env: Environment): EvaluatorSecrets {
  const picked = EvaluatorEnvironment.pick({ ROLECALL_PROOF_KEYS: true });
  return { proofKeys: loadEnvironment(picked, env).ROLECALL_PROOF_KEYS };
}

type EvaluatorConfig = Readonly<ReturnType<typeof loadConfig>>;

/** Share of the shutdown timeout for checks in progress; an attempt that has just begun must fit in
 * it. */
const STOP_MARGIN = 0.7;

/** Settings that contradict each other but are allowed; logged at start-up. */
export function warningsOf({ shutdownTimeoutMs, attemptTimeoutMs }: EvaluatorConfig): string[] {
  return shutdownTimeoutMs * STOP_MARGIN < attemptTimeoutMs
    ? [
        'SHUTDOWN_TIMEOUT_MS is too short for an attempt of RPC_ATTEMPT_TIMEOUT_MS: a stop repeats evaluations',
      ]
    : [];
}
