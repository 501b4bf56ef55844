import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import type { ChainFile } from '#shared/contracts/chain-file.ts';
import type { AccountBytes } from '#shared/fairness/account-bytes.ts';
import type { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import type { BodyOptions } from '#shared/http/read-json-body.ts';
import type { Route } from '#shared/http/serve-routes.ts';
import type { KeyRing } from '#shared/secret-box.ts';
import type { RecordAudit } from '#shared/stores/audit/audit-trail.ts';
import type { Batches } from '#shared/stores/batches/batches.ts';
import type { Admitter } from '#shared/stores/checks/admit.ts';
import type { ChainStates } from '#shared/stores/checks/chain-states.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';
import type { RuleSetWrites } from '#shared/stores/rules/write-rule-sets.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import type { ChangeMembers } from '#shared/stores/watches/members/write-watch-members.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { WatchWrites } from '#shared/stores/watches/write-watches.ts';
import type { Deliveries } from '#shared/stores/webhooks/deliveries.ts';
import type { BulkResends, ResendWebhooks } from '#shared/stores/webhooks/resend-webhooks.ts';
import type { WebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Authenticator } from './auth/authenticate.ts';
import type { BatchBodies, BatchBody } from './batches/batch-bodies.ts';
import type { PublishBatch } from './batches/publish-batch.ts';
import type { StreamResults } from './batches/stream-results.ts';
import type { AdmitCheck } from './checks/admit-check.ts';
import type { Waiters } from './checks/await-result.ts';
import type { RequestRules } from './checks/parse-request.ts';
import type { PublishCheck } from './checks/publish-check.ts';
import type { RequestIds, Retention } from './checks/request-ids.ts';
import type { Request, Response } from './edge/exchange.ts';
import type { ApplyLimits, IsOverloaded } from './limits/apply-limits.ts';
import type { GatewayMetrics } from './metrics.ts';
import type { RuleSetCache } from './rule-sets/cache-rule-sets.ts';
import type { Nonces } from './sign-in/nonces.ts';

/** The parts of the gateway, made once at its start; tests replace some of them. */
export type Services = {
  /** Throws Problem `api-key-missing`, `api-key-invalid`, `rate-limited`; ServiceError when the
   * view is away. */
  readonly authenticate: Authenticator['authenticate'];
  readonly applyLimits: ApplyLimits;
  readonly isOverloaded: IsOverloaded;

  readonly rules: RequestRules;
  readonly admitCheck: AdmitCheck;
  readonly publishCheck: PublishCheck;
  /** Refunds charges of checks that are never published. */
  readonly refund: Admitter['release'];
  /** Of a large result its bytes alone: it is read by `readResult`, in `documentLists`. */
  readonly findResult: (requestId: string) => Promise<string | number | undefined>;
  readonly readResult: (requestId: string) => Promise<string | undefined>;
  readonly waiters: Pick<Waiters, 'wait' | 'hasRoom'>;
  readonly ids: RequestIds;
  readonly nonces: Nonces;
  /** The Redis channel on which this process is notified of its sync results. */
  readonly replyChannel: string;
  readonly syncDeadlineMs: number;
  readonly retentionMs: Retention;
  readonly chains: ChainFile['chains'];
  readonly readChainStates: ChainStates['read'];
  /** Public keys of signed verdicts, if verdicts are signed here. */
  readonly proofKeys: KeyRing | undefined;

  readonly batchBodies: BatchBodies;
  readonly publishBatch: PublishBatch;
  readonly batches: Pick<Batches, 'readStatus' | 'readPart' | 'countFinished' | 'countUnfinishedOf'>;
  /** Waits for a batch to be completed: its status document, as text. */
  readonly batchWaiters: Pick<Waiters, 'wait' | 'hasRoom'>;
  readonly streamResults: StreamResults;

  /** Reads without the cache, so that a client finds its own writes. */
  readonly ruleSets: Pick<RuleSets, 'read' | 'list'>;
  readonly ruleSetCache: Pick<RuleSetCache, 'forget'>;
  readonly ruleSetWrites: RuleSetWrites;

  readonly watches: Pick<Watches, 'read' | 'list'>;
  readonly watchMembers: Pick<WatchMembers, 'readMany' | 'page' | 'count'>;
  readonly watchWrites: WatchWrites;
  readonly changeMembers: ChangeMembers;

  readonly deliveries: Pick<Deliveries, 'page' | 'read'>;
  readonly readBodyHead: WebhookBodies['readHead'];
  readonly resends: Pick<ResendWebhooks, 'resend'>;
  readonly bulkResends: BulkResends;
  /** Refuses a resend whose account has used its bytes of the day. */
  readonly requireRoom: AccountBytes['requireRoom'];
  readonly recordAudit: RecordAudit;

  /** Without a trailing slash; empty for relative addresses. */
  readonly publicBaseUrl: string;
  readonly documentRoutes: readonly Route[];
  /** Requests answered at once, waiting ones included; more are refused before any work. */
  readonly inFlightMax: number;
  /** Request bodies being read at once, of all client apps. */
  readonly bodyReadsMax: number;
  /** From the beginning of a body's reading to its end. */
  readonly bodyTimeoutMs: number;
  /** Addresses of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  readonly isStopping: () => boolean;
  readonly metrics: Pick<GatewayMetrics, 'requestSeconds' | 'inFlight' | 'forwardedForIgnored'>;
  readonly logsAccess: boolean;
  readonly log: Logger;
};

export type ReadBody<Body> = (
  request: Request,
  response: Response,
  app: AppAccess,
  options?: BodyOptions,
) => Promise<Body>;

/** The bounds on each client app, which `makeApp` adds. */
export type Bounds = {
  /** The value of a client app's body, read within the bounds of that app. @throws Problem */
  readonly readBody: ReadBody<unknown>;
  /** Counts memory that a request holds until it is published. @throws Problem `overloaded` */
  readonly holdMemory: (response: Response, bytes: number) => void;
  readonly freeMemory: (response: Response) => void;
  /** Resolves when work of some milliseconds of the client app may begin: accounts take turns. */
  readonly takeTurn: (app: AppAccess) => Promise<void>;
  /** Opens a client app's body of many values; the request then leaves the requests in flight until
   * `resumeRequest`. With `waits` it waits while another such body of the app is being read. */
  readonly openBody: (
    request: Request,
    response: Response,
    app: AppAccess,
    options?: { readonly waits: boolean },
  ) => Promise<BatchBody>;
  /** Counts a request in flight again, once its body was read. */
  readonly resumeRequest: (response: Response, app: AppAccess) => void;
  /** A list may read 200 rule sets of up to 250 KB, or members of as much, so only a few are made at a time; client apps
   * take turns. */
  readonly documentLists: FairTaskQueue;
};

export type Dependencies = Services & Bounds;
