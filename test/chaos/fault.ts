import type { ReceivedWebhook, WebhookReceiver } from '../support/fakes/receive-webhooks.ts';
import type { Evidence, Ledger, Reconciliation } from '../support/judges/ledger.ts';
import type { Load } from '../support/judges/load.ts';
import type { Random } from '../support/random.ts';
import type { Figure, Span } from './judges/measure.ts';
import type { BalancedClient } from './system/balance.ts';
import type { ChaosSystem, Needs } from './system/chaos-system.ts';
import type { Credentials } from './system/create-app.ts';

/** Everything that a row needs to inject its fault. */
export type Scene = {
  readonly system: ChaosSystem;
  /** A client app for this row alone, and its client over all gateways. */
  readonly app: Credentials;
  readonly client: BalancedClient;
  readonly ledger: Ledger;
  readonly load: Load;
  readonly receiver: WebhookReceiver;
  /** The duration of the fault, unless the row needs longer. */
  readonly seconds: number;
  readonly random: Random;
  /** False beside other loads, where a process may pause long enough to be taken for dead. */
  readonly timesDecide: boolean;
  /** Waits, and returns the span of the wait. */
  readonly rest: (ms: number) => Promise<Span>;
  /** Starts another receiver, whose deliveries count too; it ends with the row. */
  readonly receive: () => Promise<WebhookReceiver>;
  /** Sends webhooks to these URLs from now on, in turn, instead of the usual receiver. */
  readonly sendTo: (urls: readonly string[]) => void;
  /** Resources that end with the row. */
  readonly scope: AsyncDisposableStack;
};

/** The facts after the drain. */
export type Outcome = Reconciliation & {
  readonly polled: Evidence['polled'];
  readonly deliveries: readonly ReceivedWebhook[];
  /** From the end of the fault until every check and webhook was finished. */
  readonly drainMs: number;
  /** Checks that were evaluated more than once. */
  readonly evaluatedAgain: number;
  readonly evaluatedOnce: number;
};

export type Finding = {
  readonly figures: readonly Figure[];
  /** Broken promises of the row itself: they fail the run, as the invariants do. */
  readonly broken?: readonly string[];
};

/** Measures the row's figures after the drain. */
export type Measure = (outcome: Outcome) => Finding | Promise<Finding>;

/** One row of the matrix. */
export type Fault = {
  readonly id: string;
  readonly title: string;
  readonly needs?: Needs;
  /** Default 100. */
  readonly perSecond?: number;
  /** Whether some checks of the load prove their wallet by `signIn`. */
  readonly signsIn?: boolean;
  /** Whether no other row can run on the system afterwards. */
  readonly isDestructive?: boolean;
  /** Runs before the load starts. */
  readonly before?: (system: ChaosSystem) => Promise<void>;
  readonly run: (scene: Scene) => Promise<Measure>;
};
