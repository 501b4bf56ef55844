import { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { anAdmission, anAppWithKey, NOW_MS } from '../../../test/support/fakes/fake-gateway.ts';
import { type CheckToPublish, makePublishCheck } from './publish-check.ts';

const app = AppAccess.parse(anAppWithKey());
const A_CHECK_TO_PUBLISH: CheckToPublish = {
  app,
  keyId: 'key_1',
  check: {
    account: '0x52908400098527886e0f7030069857d2e4169ee7',
    accounts: undefined,
    vaults: undefined,
    rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder', minToken: '1' }],
    ruleSet: undefined,
    callbackUrl: undefined,
    isAsync: true,
    onUndetermined: 'omit',
    consistency: { blockTag: 'latest', minBlock: {}, atBlock: undefined },
    explain: false,
    proof: undefined,
    signIn: undefined,
    canonical: () => '',
    rulesDigest: () => '',
  },
  admitted: {
    requestId: 'req_1',
    acceptedAtMs: NOW_MS,
    nowMs: NOW_MS,
    month: '2026-11',
    admission: anAdmission({
      clientId: app.clientId,
      accountId: app.accountId,
      limits: app.limits,
      bucket: 'per-second',
    }),
    seed: '',
    idempotency: undefined,
    kind: 'fresh',
  },
  delivery: { mode: 'poll' },
  deadlineAtMs: undefined,
  traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
  elapsedMs: 0,
  onRefund: () => undefined,
};

test('fails only once the charge of a check that was surely not written is refunded', async () => {
  const order: string[] = [];
  const refund = Promise.withResolvers<void>();
  const publishCheck = makePublishCheck({
    publish: () => Promise.reject(new ServiceError('broker-unavailable', 'away')),
    admitter: {
      dropClaim: () => Promise.reject(new Error('not called')),
      release: () => refund.promise.then(() => void order.push('refunded')),
      markPublished: () => Promise.reject(new Error('not called')),
    },
    retentionMs: { interactive: HOUR_MS, bulk: HOUR_MS, batch: HOUR_MS },
    metrics: { checksAccepted: { inc: () => undefined } as never },
    log: makeSilentLogger(),
  });
  const publishing = publishCheck({ ...A_CHECK_TO_PUBLISH, onRefund: () => order.push('told') }).catch(
    ({ code }: ServiceError) => order.push(code),
  );
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([]);
  refund.resolve();
  await publishing;
  expect(order).toEqual(['refunded', 'told', 'broker-unavailable']);
});
