import { isDeepStrictEqual } from 'node:util';
import { Registry } from 'prom-client';
import { hashApiKey, makeApiKey } from '#shared/contracts/apps/api-key.ts';
import { AppAccess, type ClientApp, KeyPermission } from '#shared/contracts/apps/client-app.ts';
import { BatchPartRequested } from '#shared/contracts/batches/batch.ts';
import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import type { Route } from '#shared/http/serve-routes.ts';
import type { KeyRing } from '#shared/secret-box.ts';
import type { KeyHolder } from '#shared/stores/apps/client-apps.ts';
import type { StoredLines } from '#shared/stores/batches/batches.ts';
import type { Admission, AdmitRequest } from '#shared/stores/checks/admit.ts';
import type { WatchWrites } from '#shared/stores/watches/write-watches.ts';
import { type Logger, makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeApp } from '../../../services/gateway/app.ts';
import { makeAuthenticator } from '../../../services/gateway/auth/authenticate.ts';
import { makeFailedKeyBudget } from '../../../services/gateway/auth/failed-keys.ts';
import { type BatchBodyBounds, makeBatchBodies } from '../../../services/gateway/batches/batch-bodies.ts';
import { makePublishBatch } from '../../../services/gateway/batches/publish-batch.ts';
import { readCompleted } from '../../../services/gateway/batches/read-batch.ts';
import { makeStreamResults, type StreamBounds } from '../../../services/gateway/batches/stream-results.ts';
import { makeAdmitCheck } from '../../../services/gateway/checks/admit-check.ts';
import { makeWaiters } from '../../../services/gateway/checks/await-result.ts';
import { makePublishCheck } from '../../../services/gateway/checks/publish-check.ts';
import { type IssuedLane, makeRequestIds } from '../../../services/gateway/checks/request-ids.ts';
import type { Services } from '../../../services/gateway/dependencies.ts';
import { makeApplyLimits } from '../../../services/gateway/limits/apply-limits.ts';
import { makeGatewayMetrics } from '../../../services/gateway/metrics.ts';
import { makeDocumentRoutes } from '../../../services/gateway/routes.ts';
import { makeResolveRuleSet, makeRuleSetCache } from '../../../services/gateway/rule-sets/cache-rule-sets.ts';
import { makeNonces } from '../../../services/gateway/sign-in/nonces.ts';
import { makeRefuseSignIn } from '../../../services/gateway/sign-in/refuse-sign-in.ts';
import { aChain } from '../builders/a-chain.ts';
import { aClientApp } from '../builders/a-client-app.ts';
import { type FakeBatchOptions, makeFakeBatches } from './fake-batches.ts';
import { type FakeRuleSets, makeFakeRuleSets } from './fake-rule-sets.ts';
import { serveOnLoopback } from './serve-on-loopback.ts';

export const API_KEY = makeApiKey(new Uint8Array(30).fill(7));
export const NOW_MS = Date.UTC(2026, 10, 21, 10);

export const A_CHECK = {
  account: '0x52908400098527886E0F7030069857D2E4169EE7',
  rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }],
} as const;

export const anAppWithKey = (changes: Partial<ClientApp> = {}): ClientApp =>
  aClientApp('app_1', {
    accountId: 'account_1',
    keys: [
      {
        keyId: 'key_1',
        hash: hashApiKey(API_KEY),
        name: 'default',
        prefix: 'rck_live_0000',
        lastFour: '0000',
        marketplace: false,
        permissions: KeyPermission.options,
        createdAt: new Date(NOW_MS).toISOString(),
      },
    ],
    createdAt: new Date(NOW_MS).toISOString(),
    ...changes,
  });

/** An app whose key has these permissions alone. */
export function anAppWhoseKeyMay(permissions: KeyPermission[], changes: Partial<ClientApp> = {}): ClientApp {
  const app = anAppWithKey(changes);
  return { ...app, keys: app.keys.map((key) => ({ ...key, permissions })) };
}

/** An admission within all limits. */
export const anAdmission = (request: AdmitRequest, changes: Partial<Admission> = {}): Admission => ({
  outcome: request.check && !request.check.isReplayOnly && !request.check.isTrial ? 'fresh' : 'counted',
  nowMs: NOW_MS,
  second: { limit: 10, remaining: 9, resetMs: 1_000 },
  month:
    request.bucket === 'per-second'
      ? { name: '2026-11', limit: 10_000, remaining: 9_999, resetMs: 864_000_000 }
      : undefined,
  claim: undefined,
  ...changes,
});

export type FakeOptions = FakeBatchOptions & {
  readonly app?: ClientApp;
  readonly admit?: (request: AdmitRequest) => Promise<Admission>;
  readonly publish?: (message: CheckRequested) => Promise<void>;
  readonly findKey?: (hash: string) => Promise<KeyHolder | undefined>;
  readonly syncDeadlineMs?: number;
  readonly isStopping?: () => boolean;
  readonly inFlightMax?: number;
  readonly bodyReadsMax?: number;
  readonly bodyTimeoutMs?: number;
  readonly isOverloaded?: (lane: IssuedLane) => boolean;
  readonly publishPart?: (part: BatchPartRequested) => Promise<void>;
  readonly bodyBounds?: Partial<BatchBodyBounds>;
  readonly streamBounds?: StreamBounds;
  readonly stopping?: AbortSignal;
  readonly waitersMax?: number;
  readonly trustedProxies?: readonly string[];
  readonly log?: Logger;
  readonly ruleSets?: FakeRuleSets;
  /** Default: no watches. */
  readonly watches?: Partial<Pick<Services, 'watches' | 'watchMembers' | 'watchWrites' | 'changeMembers'>>;
  /** Default: no deliveries, and no bounds. */
  readonly deliveries?: Partial<
    Pick<Services, 'deliveries' | 'readBodyHead' | 'resends' | 'bulkResends' | 'requireRoom' | 'recordAudit'>
  >;
  readonly proofKeys?: KeyRing;
  readonly publicBaseUrl?: string;
  /** Default: nothing is known of any chain. */
  readonly readChainStates?: Services['readChainStates'];
  /** Whether a claim is still its first owner's. Default true. */
  readonly dropClaim?: boolean;
};

const CHAINS = [aChain()];
const documentRoutes = new Map<string, readonly Route[]>();
/** Made once by each suite: most tests take less time than rendering the documents. */
function documentRoutesOf(publicBaseUrl = ''): readonly Route[] {
  const routes =
    documentRoutes.get(publicBaseUrl) ??
    makeDocumentRoutes({ publicBaseUrl, chains: CHAINS, demo: undefined });
  documentRoutes.set(publicBaseUrl, routes);
  return routes;
}

/** The answers of the view. */
export function holderOf(app: ClientApp, hash: string): KeyHolder | undefined {
  const key = app.keys.find((candidate) => candidate.hash === hash);
  if (!key || key.revokedAt !== undefined) return undefined;
  const expiresAtMs = key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt);
  return { keyId: key.keyId, permissions: key.permissions, expiresAtMs, app: AppAccess.parse(app) };
}

/** The gateway's app on its own port, with object literals instead of Kafka and Redis. */
export async function startFakeGateway(options: FakeOptions = {}) {
  const app = options.app ?? anAppWithKey();
  const published: CheckRequested[] = [];
  const admitted: AdmitRequest[] = [];
  const released: unknown[] = [];
  const marked: unknown[] = [];
  const admitter = {
    dropClaim: async () => options.dropClaim ?? true,
    release: async (charge: unknown) => void released.push(charge),
    markPublished: async (claim: unknown) => void marked.push(claim),
  };
  const results = new Map<string, string>();
  const metrics = makeGatewayMetrics(new Registry());
  const ruleSets = options.ruleSets ?? makeFakeRuleSets();
  const ruleSetCache = makeRuleSetCache(ruleSets.view);
  const waiters = makeWaiters({
    readMany: async (ids) => ids.map((id) => results.get(id)),
    requestNotice: async () => undefined,
    waitersMax: options.waitersMax ?? 100,
  });
  const parts: BatchPartRequested[] = [];
  const { batches, slots, store, ...batchRecords } = makeFakeBatches(options);
  const batchWaiters = makeWaiters({
    readMany: readCompleted(batches),
    requestNotice: async () => undefined,
    waitersMax: options.waitersMax ?? 100,
  });
  const admit = async (request: AdmitRequest): Promise<Admission> => {
    admitted.push(request);
    return options.admit ? options.admit(request) : anAdmission(request);
  };
  const applyLimits = makeApplyLimits({ admit, metrics });
  const idKeys = { current: { number: 1 }, byNumber: new Map([[1, new Uint8Array(32).fill(1)]]) };
  const ids = makeRequestIds(idKeys);
  const nonces = makeNonces(idKeys);
  const retentionMs = { interactive: HOUR_MS, bulk: 72 * HOUR_MS, batch: 72 * HOUR_MS };
  const syncDeadlineMs = options.syncDeadlineMs ?? 1_000;
  const readResult = async (requestId: string) => results.get(requestId);
  const findResult = async (requestId: string) => {
    const result = results.get(requestId);
    return result !== undefined && result.length > 16_384 ? result.length : result;
  };
  const authenticator = makeAuthenticator({
    findKey: options.findKey ?? (async (hash) => holderOf(app, hash)),
    now: () => NOW_MS,
    // A second that never ends.
    mayFail: makeFailedKeyBudget(() => NOW_MS),
    noteUse: () => undefined,
    observeLookup: () => undefined,
  });
  const listener = makeApp({
    authenticate: authenticator.authenticate,
    applyLimits,
    admitCheck: makeAdmitCheck({ applyLimits, readResult, ids, retentionMs, syncDeadlineMs }),
    publishCheck: makePublishCheck({
      publish: publishTo(CheckRequested, published, options.publish),
      admitter,
      retentionMs,
      metrics,
      log: makeSilentLogger(),
    }),
    publishBatch: makePublishBatch({
      publish: publishTo(BatchPartRequested, parts, options.publishPart),
      admitter,
      slots,
      batches,
      retentionMs,
      metrics,
      log: makeSilentLogger(),
    }),
    refund: admitter.release,
    batchBodies: makeBatchBodies(options.stopping ?? new AbortController().signal, options.bodyBounds),
    batches,
    batchWaiters,
    streamResults: makeStreamResults(batches, options.streamBounds),
    findResult,
    readResult,
    waiters,
    ids,
    nonces,
    watches: { read: async () => undefined, list: async () => ({ watches: [], next: undefined }) },
    watchMembers: {
      readMany: async () => [],
      page: async () => ({ members: [], next: undefined }),
      count: async () => 0,
    },
    watchWrites: {} as WatchWrites,
    changeMembers: async () => ({ added: 0, replaced: 0, removed: 0, members: 0 }),
    ...options.watches,
    deliveries: { page: async () => ({ deliveries: [], next: undefined }), read: async () => undefined },
    readBodyHead: async () => '',
    resends: { resend: async (requestId) => ({ requestId }) },
    bulkResends: {
      take: async () => undefined,
      takeOne: async () => undefined,
      send: async () => ({ count: 0 }),
    },
    requireRoom: async () => undefined,
    recordAudit: async () => undefined,
    ...options.deliveries,
    ruleSets: ruleSets.view,
    ruleSetCache,
    ruleSetWrites: ruleSets.writes,
    rules: {
      chainIds: new Set([1, 10]),
      callback: { allowHttp: false, allowedCidrs: [] },
      resolveRuleSet: makeResolveRuleSet(ruleSetCache),
      refuseSignIn: makeRefuseSignIn({ nonces, now: () => NOW_MS }),
      signsVerdicts: options.proofKeys !== undefined,
    },
    chains: CHAINS,
    readChainStates: options.readChainStates ?? (async () => new Map()),
    retentionMs,
    syncDeadlineMs,
    replyChannel: 'results:test',
    publicBaseUrl: options.publicBaseUrl ?? '',
    documentRoutes: documentRoutesOf(options.publicBaseUrl),
    proofKeys: options.proofKeys,
    inFlightMax: options.inFlightMax ?? 100,
    bodyReadsMax: options.bodyReadsMax ?? 100,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 60_000,
    trustedProxies: options.trustedProxies ?? [],
    logsAccess: false,
    isStopping: options.isStopping ?? (() => false),
    isOverloaded: options.isOverloaded ?? (() => false),
    metrics,
    log: options.log ?? makeSilentLogger(),
  });
  const server = await serveOnLoopback(listener);
  const { url } = server;
  const send = makeSend(url);
  return {
    url,
    listener,
    ids,
    nonces,
    published,
    parts,
    ...batchRecords,
    admitted,
    released,
    marked,
    waiters,
    batchWaiters,
    authenticator,
    /** Stores a result and notifies the waiters, as the result-store does. */
    complete(requestId: string, resultJson: string) {
      results.set(requestId, resultJson);
      waiters.notice(requestId);
    },
    /** Stores parts of a batch and notifies the waiters. */
    storeBatch(status: BatchStatus, lines: readonly StoredLines[]) {
      store(status, lines);
      batchWaiters.notice(status.requestId);
    },
    /** Stores a result without a notice. */
    storeSilently: (requestId: string, resultJson: string) => void results.set(requestId, resultJson),
    send,
    post: (body: unknown, headers?: Record<string, string>) =>
      send('POST', '/access-control/check-roles', body, headers),
    postBatch: (body: unknown, headers?: Record<string, string>) =>
      send('POST', '/access-control/check-roles/batch', body, headers),
    get: (path: string, headers?: Record<string, string>) => send('GET', path, undefined, headers),
    async [Symbol.asyncDispose]() {
      waiters[Symbol.dispose]();
      batchWaiters[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The gateway does not validate its own messages, so every test does. */
const publishTo =
  <T>(
    schema: { readonly parse: (message: unknown) => T },
    published: T[],
    beforehand?: (message: T) => Promise<void>,
  ) =>
  async (_topic: unknown, message: unknown): Promise<void> => {
    const parsed = schema.parse(message);
    if (!isDeepStrictEqual(parsed, message)) throw new Error('the message holds more than its schema');
    await beforehand?.(parsed);
    published.push(parsed);
  };

/** Sends requests and reads each answer to its end: an unread body keeps its connection open. */
const makeSend =
  (url: string) =>
  async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        'x-api-key': API_KEY,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isText(body) ? (body as string) : JSON.stringify(body) }),
    });
    const bytes = await answer.arrayBuffer();
    return new Response(bytes.byteLength === 0 ? null : bytes, answer);
  };

const isText = (body: unknown): boolean => typeof body === 'string' || body instanceof Uint8Array;

export type FakeGateway = Awaited<ReturnType<typeof startFakeGateway>>;

/** A result of the check above. */
export const aResult = (requestId: string, changes: Record<string, unknown> = {}): string =>
  JSON.stringify({
    requestId,
    status: 'completed',
    roles: [{ id: 'holder', granted: true }],
    errors: [],
    evaluatedAt: new Date(NOW_MS).toISOString(),
    blocks: {},
    ...changes,
  });
