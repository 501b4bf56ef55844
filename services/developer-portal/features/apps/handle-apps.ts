import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import { ServiceError } from '#shared/errors.ts';
import { invalidBody } from '#shared/http/problem.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { KeyUse } from '#shared/stores/apps/key-use.ts';
import { roleOf } from '../../domain/permissions.ts';
import type { Call, Handlers } from '../../http/call.ts';
import { type Idempotency, requestOf } from '../../http/idempotency.ts';
import { presentApp, presentAppSummary } from '../present.ts';
import { makeReadOwn } from './app-access.ts';
import type { ClientAppWork } from './client-apps.ts';
import { newCredentials, newKey, newWebhookSecret } from './credentials.ts';

type Dependencies = {
  readonly clientApps: Pick<ClientApps, 'listOwned' | 'listShared'>;
  readonly apps: ClientAppWork;
  readonly keyUse: Pick<KeyUse, 'read'>;
  readonly idempotency: Idempotency;
  readonly callbackPolicy: CallbackPolicy;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Developers' operations on their apps, keys, secrets and scopes. */
export function makeAppHandlers(
  deps: Dependencies,
): Handlers<
  | 'listApps'
  | 'createApp'
  | 'readApp'
  | 'renameApp'
  | 'setAlerts'
  | 'deleteApp'
  | 'createKey'
  | 'revokeKey'
  | 'rollKey'
  | 'rotateSecret'
  | 'requestScope'
> {
  const { clientApps, apps, keyUse, idempotency, callbackPolicy, now } = deps;
  const readOwn = makeReadOwn(deps);
  const show = async (app: ClientApp, { account, owner }: Pick<Call<'readApp'>, 'account' | 'owner'>) =>
    presentApp(app, { account, owner }, await keyUse.read(app.clientId), now());

  return {
    async listApps({ account }) {
      const present = (app: ClientApp) =>
        roleOf(app, account) ? [presentAppSummary(app, account, now())] : [];
      return [
        ...(await clientApps.listOwned(account.accountId, present)),
        ...(await clientApps.listShared(account.accountId, present)),
      ].flat();
    },
    async createApp(call) {
      const { account, body } = call;
      const { keyId, ...credentials } = await idempotency.run(
        requestOf('createApp', call),
        () => ({ ...newCredentials(), keyId: newKey().keyId }),
        ({ keyId, ...credentials }) =>
          apps.create(account.email, { owner: account, name: body.name, scope: 'none', credentials, keyId }),
      );
      return { ...credentials, keyId, name: body.name };
    },
    readApp: async (call) => show(await readOwn(call.account, call.param('clientId')), call),
    async renameApp(call) {
      const { account, param, body } = call;
      const { clientId } = await readOwn(account, param('clientId'));
      return show(await apps.rename(account.email, clientId, body.name), call);
    },
    async setAlerts(call) {
      const { account, param, body } = call;
      const { callbackUrl } = body;
      const { clientId } = await readOwn(account, param('clientId'));
      const judged = callbackUrl === null ? undefined : judgeCallbackUrl(callbackUrl, callbackPolicy);
      if (judged && 'fault' in judged) throw invalidBody([{ pointer: '/callbackUrl', ...judged.fault }]);
      return show(await apps.setAlertUrl(account.email, clientId, judged?.href), call);
    },
    async deleteApp({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      await apps.remove(account.email, clientId);
      return undefined;
    },
    async createKey(call) {
      const { account, param, body } = call;
      const { clientId } = await readOwn(account, param('clientId'));
      const expiresAt = body.expiresAt === undefined ? undefined : inFuture(body.expiresAt, now());
      return idempotency.run(requestOf('createKey', call, [clientId]), newKey, (key) =>
        apps.createKey(account.email, clientId, key, { ...body, expiresAt }),
      );
    },
    async revokeKey({ account, param }) {
      const { clientId } = await readOwn(account, param('clientId'));
      await apps.revokeKey(account.email, clientId, param('keyId'));
      return undefined;
    },
    async rollKey(call) {
      const { account, param, body } = call;
      const { clientId, keys } = await readOwn(account, param('clientId'));
      const keyId = param('keyId');
      if (!keys.some((key) => key.keyId === keyId))
        throw new ServiceError('not-found', `there is no key ${keyId} of ${clientId}`);
      return idempotency.run(requestOf('rollKey', call, [clientId, keyId]), newKey, (fresh) =>
        apps.rollKey(account.email, clientId, keyId, fresh, body.overlapHours * HOUR_MS),
      );
    },
    async rotateSecret(call) {
      const { account, param, body } = call;
      const { clientId } = await readOwn(account, param('clientId'));
      const { webhookSecret, sealed } = await idempotency.plan(
        requestOf('rotateSecret', call, [clientId]),
        () => {
          const made = newWebhookSecret();
          return { webhookSecret: made, sealed: apps.seal(clientId, made) };
        },
      );
      await apps.rotateSecret(account.email, clientId, sealed, body.overlapHours * HOUR_MS);
      return { webhookSecret };
    },
    async requestScope(call) {
      const { account, param, body } = call;
      const { clientId } = await readOwn(account, param('clientId'));
      return show(await apps.requestScope(account.email, clientId, body.purpose), call);
    },
  };
}

/** @throws Problem `validation-failed` */
function inFuture(instant: string, nowMs: number): string {
  const ms = Date.parse(instant);
  if (ms <= nowMs)
    throw invalidBody([
      { pointer: '/expiresAt', code: 'not-in-future', detail: 'It must be in the future.' },
    ]);
  return new Date(ms).toISOString();
}
