import type { Evidence, Ledger, Reconciliation } from '../support/ledger.ts';
import type { Load } from '../support/load.ts';
import type { ReceivedWebhook, WebhookReceiver } from '../support/receive-webhooks.ts';
import type { ChaosSystem, Needs } from './chaos-system.ts';
import type { Figure, Span } from './measure.ts';
import type { BalancedClient } from './parts/balance.ts';
import type { Credentials } from './parts/create-app.ts';
import type { Random } from './random.ts';

/** What a row does its harm with. */
export type Scene = {
  readonly system: ChaosSystem;
  /** A client app of the row's own, and its client over all gateways. */
  readonly app: Credentials;
  readonly client: BalancedClient;
  readonly ledger: Ledger;
  readonly load: Load;
  readonly receiver: WebhookReceiver;
  /** How long the harm lasts, unless the row says longer. */
  readonly seconds: number;
  readonly random: Random;
  /** False beside other loads, where a process may stand still long enough to be taken for dead. */
  readonly timesDecide: boolean;
  /** Waits, and says from when to when. */
  readonly rest: (ms: number) => Promise<Span>;
  /** Receivers of the row's own, counted with the usual one; ended when the row is over. */
  readonly receive: () => Promise<WebhookReceiver>;
  /** From now on webhooks are to go there, in turn; the usual receiver is given up. */
  readonly sendTo: (urls: readonly string[]) => void;
  /** Ends with the row. */
  readonly scope: AsyncDisposableStack;
};

/** What is known after the drain. */
export type Outcome = Reconciliation & {
  readonly polled: Evidence['polled'];
  readonly deliveries: readonly ReceivedWebhook[];
  /** From the end of the harm until everything had its end. */
  readonly drainMs: number;
  /** Checks that were evaluated more than once. */
  readonly evaluatedAgain: number;
  readonly evaluatedOnce: number;
};

export type Finding = {
  readonly figures: readonly Figure[];
  /** Promises of the row itself that were broken: they decide, as the invariants do. */
  readonly broken?: readonly string[];
};

/** Looks at the numbers once all is over. */
export type Measure = (outcome: Outcome) => Finding | Promise<Finding>;

/** One row of the matrix. */
export type Fault = {
  readonly id: string;
  readonly title: string;
  readonly needs?: Needs;
  /** Default 100. */
  readonly perSecond?: number;
  /** Nothing else can run on the system afterwards. */
  readonly spoils?: boolean;
  /** Under load, except with `before`, which runs first. Returns when the harm is over. */
  readonly before?: (system: ChaosSystem) => Promise<void>;
  readonly run: (scene: Scene) => Promise<Measure>;
};
