import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { judgeSignInDomains } from '#shared/contracts/sign-in/sign-in-domain.ts';
import { judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import { ServiceError } from '#shared/errors.ts';
import { invalidBody } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import { type ChangeApp, requestScope, set } from '../../domain/change-app.ts';
import { roleOf } from '../../domain/permissions.ts';
import type { Call, Handlers } from '../../http/operations.ts';
import { presentApp, presentAppSummary } from '../present.ts';
import type { APP_OPERATIONS } from './app-operations.ts';
import { newCredentials, newKey, newWebhookSecret } from './credentials.ts';

type OfApp = Pick<Call<'readApp'>, 'account' | 'app' | 'owner'>;

export function makeAppHandlers(deps: Dependencies): Handlers<keyof typeof APP_OPERATIONS> {
  const { clientApps, apps, keyUse, now } = deps;
  const show = async (app: ClientApp, { account, owner }: OfApp) =>
    presentApp(app, { account, owner }, await keyUse.read(app.clientId), now());
  const change = async (call: OfApp, action: string, by: ChangeApp) => {
    const { clientId } = call.app;
    return show(await apps.change(call.account.accountId, clientId, action, clientId, by), call);
  };

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
      const { name } = body;
      const fresh = { ...newCredentials(), keyId: newKey().keyId };
      const created = await call.once(fresh, ({ keyId, ...credentials }) =>
        apps.create(account.accountId, { owner: account, name, scope: 'none', credentials, keyId }),
      );
      return { ...created, name };
    },
    readApp: async (call) => show(call.app, call),
    renameApp: (call) => change(call, 'app-renamed', set({ name: call.body.name })),
    async setAlerts(call) {
      const { callbackUrl } = call.body;
      const judged = callbackUrl === null ? undefined : judgeCallbackUrl(callbackUrl, deps.config.callback);
      if (judged && 'fault' in judged) throw invalidBody([{ pointer: '/callbackUrl', ...judged.fault }]);
      return change(call, 'alerts-set', set({ alertUrl: judged?.href }));
    },
    async setDomains(call) {
      const { account, app, body } = call;
      const judged = judgeSignInDomains(body.domains);
      if ('fault' in judged)
        throw invalidBody([{ pointer: '/domains', code: 'malformed', detail: judged.fault }]);
      return show(await apps.setDomains(account.accountId, app.clientId, judged.domains), call);
    },
    async deleteApp({ account, app: { clientId } }) {
      await apps.remove(account.accountId, clientId);
    },
    async createKey({ account, app: { clientId }, body, once }) {
      const expiresAt = body.expiresAt && inFuture(body.expiresAt, now());
      return once(newKey(), (key) =>
        apps.createKey(account.accountId, clientId, key, { ...body, expiresAt }),
      );
    },
    async revokeKey({ account, app: { clientId }, param }) {
      await apps.revokeKey(account.accountId, clientId, param('keyId'));
    },
    rollKey: async ({ account, app: { clientId }, param, body, once }) =>
      once(newKey(), (fresh) =>
        apps.rollKey(account.accountId, clientId, param('keyId'), fresh, body.overlapHours * HOUR_MS),
      ),
    async rotateSecret({ account, app: { clientId }, body, once }) {
      const webhookSecret = newWebhookSecret();
      const fresh = { webhookSecret, sealed: apps.seal(clientId, webhookSecret) };
      return once(fresh, ({ sealed }) =>
        apps.rotateSecret(account.accountId, clientId, sealed, body.overlapHours * HOUR_MS),
      );
    },
    requestScope: (call) =>
      change(call, 'scope-requested', (app) => {
        if (app.scope === 'approved') throw new ServiceError('conflict', 'the scope is approved already');
        return requestScope(call.body.purpose, new Date(now()).toISOString())(app);
      }),
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
