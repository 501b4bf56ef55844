import type { RuleFault } from '#shared/contracts/checks/result.ts';
import type { SeenBlock } from '#shared/contracts/watches/watch.ts';
import type { EndpointNames, Why } from '#shared/contracts/watches/watch-check.ts';

/** A block that a check has read; `madeAt` is its time, epoch ms of the chain. */
export type ReadBlock = SeenBlock & { readonly madeAt?: number | undefined };

/** The findings of one check about a member. */
export type Answer = {
  /** Under which stamp it was requested. */
  readonly walletsAt: string;
  readonly rules: string;
  readonly why: Why;
  /** By chain id, the least block that it had to read. */
  readonly owed: Readonly<Record<string, number>>;
  readonly sweep?: number | undefined;
  /** Unread chains are left to the next sweep. */
  readonly forgives?: boolean | undefined;
  /** Every role of the rule set, in its order; `undefined`: could not be read. */
  readonly verdicts: ReadonlyMap<string, boolean | undefined>;
  /** By chain id. */
  readonly read: Readonly<Record<string, ReadBlock>>;
  readonly answeredBy?: EndpointNames | undefined;
  readonly errors: readonly RuleFault[];
  readonly evaluatedAt: string;
};

/** A reorg: the first dropped block, and when it was known, epoch ms. */
export type Fork = { readonly from: number; readonly knownAt: number };

/** The state of a watch when an answer is judged. */
export type Present = {
  /** Its rules and block tag; `undefined`: it has none. */
  readonly rules: string | undefined;
  /** By chain id, the last reorgs. */
  readonly forks: Readonly<Record<string, readonly Fork[]>>;
};
