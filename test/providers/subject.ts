import type { CheckResult } from '#shared/contracts/checks/result.ts';
import type { TestCheck } from '../support/infrastructure/connect-test-chains.ts';
import type { Move } from './move-tokens.ts';

/** A part of a check's result that is judged. */
export type Verdicts = Pick<CheckResult, 'roles' | 'errors' | 'blocks'>;

/** The evaluator with the endpoints of one arrangement: in this process, or as a running system. */
export type Subject = AsyncDisposable & {
  readonly chainId: number;
  readonly judge: (check: TestCheck) => Promise<Verdicts>;
  /** Calls of all endpoints of the arrangement so far. */
  readonly callCount: () => number;
  readonly batchCount: () => Promise<number>;
  /** By contract, the states that `following` showed, in order. */
  readonly states: () => Promise<ReadonlyMap<string, readonly string[]>>;
  /** What should have been noticed of these moves and was not, each with its contract. */
  readonly unnoticed: (
    moves: readonly Move[],
  ) => Promise<readonly { readonly contract: string; readonly what: string }[]>;
};

/** The endpoints of a chain: the provider alone, or beside healthy ones; as many as the quorum
 * needs. */
export type Arrangement = { readonly isBesideHealthy: boolean; readonly quorum: number };
