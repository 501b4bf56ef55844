import type { Account, ClientApp } from '#shared/contracts/client-app.ts';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { ServiceError } from '#shared/errors.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { KeyUse } from '#shared/redis/key-use.ts';
import type { Handlers } from './call.ts';
import type { ClientAppWork } from './client-apps.ts';
import { newCredentials, newKey, newWebhookSecret } from './credentials.ts';
import { type Idempotency, requestOf } from './idempotency.ts';
import { presentApp, presentAppSummary } from './present.ts';
import { invalid } from './problem.ts';

export type Dependencies = {
  readonly clientApps: Pick<ClientApps, 'listOwned'>;
  readonly apps: ClientAppWork;
  readonly keyUse: Pick<KeyUse, 'read'>;
  readonly idempotency: Idempotency;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Reads an app for its owner. An app of another account answers `not-found`, like an app that does not exist. */
export type ReadOwn = (account: Account, clientId: string) => Promise<ClientApp>;

export const makeReadOwn =
  ({ apps }: Pick<Dependencies, 'apps'>): ReadOwn =>
  async (account, clientId) => {
    const app = await apps.read(clientId);
    if (app.accountId !== account.accountId)
      throw new ServiceError('not-found', `there is no client app ${clientId}`);
    return app;
  };

/** Developers' operations on their apps, keys, secrets and scopes. */
export function makeAppHandlers(
  deps: Dependencies,
): Handlers<
  | 'listApps'
  | 'createApp'
  | 'readApp'
  | 'renameApp'
  | 'deleteApp'
  | 'createKey'
  | 'revokeKey'
  | 'rollKey'
  | 'rotateSecret'
  | 'requestScope'
> {
  const { clientApps, apps, keyUse, idempotency, now } = deps;
  const readOwn = makeReadOwn(deps);
  const show = async (app: ClientApp, owner: Account) =>
    presentApp(app, owner, await keyUse.read(app.clientId), now());

  return {
    listApps: async ({ account }) =>
      (await clientApps.listOwned(account.accountId)).map((app) => presentAppSummary(app, now())),
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
    readApp: async ({ account, param }) => show(await readOwn(account, param('clientId')), account),
    async renameApp({ account, param, body }) {
      const { clientId } = await readOwn(account, param('clientId'));
      return show(await apps.rename(account.email, clientId, body.name), account);
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
    async requestScope({ account, param, body }) {
      const { clientId } = await readOwn(account, param('clientId'));
      return show(await apps.requestScope(account.email, clientId, body.purpose), account);
    },
  };
}

/** @throws Problem `validation-failed` */
function inFuture(instant: string, nowMs: number): string {
  const ms = Date.parse(instant);
  if (ms <= nowMs)
    throw invalid([{ pointer: '/expiresAt', code: 'not-in-future', detail: 'It must be in the future.' }]);
  return new Date(ms).toISOString();
}
