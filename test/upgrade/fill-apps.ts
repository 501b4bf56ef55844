import { type CheckClient, makeCheckClient } from '../support/systems/check-client.ts';
import type { RunningSystem } from '../support/systems/running-system.ts';
import { makePortalClient, PASSWORD, type PortalClient } from '../support/systems/start-portal.ts';

export type UpgradedApp = {
  readonly name: string;
  readonly clientId: string;
  readonly apiKey: string;
  /** The newest one. */
  readonly webhookSecret: string;
  readonly client: CheckClient;
  /** Checks that were accepted so far. */
  used: number;
};

export type Apps = {
  /** Enterprise, for most checks. */
  readonly main: UpgradedApp;
  readonly free: UpgradedApp;
  readonly paid: UpgradedApp;
  /** Enterprise with a month of `LIMITED_MONTH` checks. */
  readonly limited: UpgradedApp;
  /** Its secret was rotated: the earlier one still signs as well. */
  readonly rotated: UpgradedApp & { readonly earlierSecret: string };
  readonly suspended: UpgradedApp;
  readonly deleted: UpgradedApp;
  /** Checks that ended as failed because of a bug: they may be refunded. */
  readonly faulty: UpgradedApp;
  /** Of an account that signed up by itself: approved, and waiting for approval. */
  readonly developed: UpgradedApp;
  readonly waiting: UpgradedApp;
  /** Further keys of `main`. */
  readonly keys: { readonly live: string; readonly marketplace: string; readonly revoked: string };
  /** Signed in; its answers are those of the earlier version. */
  readonly developer: PortalClient;
  readonly password: string;
};

export const LIMITED_MONTH = 12;

type Credentials = { readonly clientId: string; readonly apiKey: string; readonly webhookSecret: string };

/** Creates accounts, apps, keys and scopes of every state, by the operator's command and by the portal. */
export async function fillApps(system: RunningSystem): Promise<Apps> {
  const admin = async <T>(...args: string[]): Promise<T> => {
    const { exitCode, value, stderr } = await system.admin(...args);
    if (exitCode !== 0) throw new Error(`admin ${args.join(' ')}: ${stderr}`);
    return value as T;
  };
  const create = async (name: string, tier: string): Promise<UpgradedApp> => {
    const owner = ['--email', `${name}@example.com`, '--name', name, '--tier', tier];
    return asApp(system, name, await admin<Credentials>('app', 'create', ...owner, '--approve'));
  };
  const createKey = async (...options: string[]) =>
    admin<{ keyId: string; apiKey: string }>('key', 'create', main.clientId, ...options);

  const main = await create('main', 'enterprise');
  const limited = await create('limited', 'enterprise');
  await admin('tier', 'set', 'limited@example.com', 'enterprise', '--month', String(LIMITED_MONTH));
  const beforeRotation = await create('rotated', 'enterprise');
  const rotated = await admin<{ webhookSecret: string }>('secret', 'rotate', beforeRotation.clientId);
  const suspended = await create('suspended', 'free');
  await admin('app', 'suspend', suspended.clientId);
  const deleted = await create('deleted', 'free');
  await admin('app', 'delete', deleted.clientId);
  const live = await createKey('--name', 'second');
  const marketplace = await createKey('--name', 'third', '--marketplace');
  const revoked = await createKey('--name', 'leaked');
  await admin('key', 'revoke', main.clientId, revoked.keyId);

  const { developer, developed, waiting } = await developApps(system);
  await admin('scope', 'approve', developed.clientId);
  return {
    main,
    free: await create('free', 'free'),
    paid: await create('paid', 'paid'),
    limited,
    rotated: { ...beforeRotation, ...rotated, earlierSecret: beforeRotation.webhookSecret },
    suspended,
    deleted,
    faulty: await create('faulty', 'enterprise'),
    developed,
    waiting,
    keys: { live: live.apiKey, marketplace: marketplace.apiKey, revoked: revoked.apiKey },
    developer,
    password: PASSWORD,
  };
}

/** An account that signs up at the portal, and its two apps, whose scopes are requested. */
async function developApps(system: RunningSystem) {
  const developer = makePortalClient(system.ready.portal, 'developer@example.com', {}, null);
  const credentials = { email: developer.email, password: PASSWORD };
  await developer.send('POST', '/api/sign-up', credentials);
  await developer.send('POST', '/api/sign-in', credentials);
  const develop = async (name: string): Promise<UpgradedApp> => {
    const { status, body } = await developer.send<Credentials>('POST', '/api/apps', { name });
    if (status !== 201) throw new Error(`the portal answered ${status} to a new app`);
    await developer.send('POST', `/api/apps/${body.clientId}/scope`, { purpose: `For ${name}.` });
    return asApp(system, name, body);
  };
  return { developer, developed: await develop('developed'), waiting: await develop('waiting') };
}

const asApp = (system: RunningSystem, name: string, credentials: Credentials): UpgradedApp => ({
  name,
  ...credentials,
  client: makeCheckClient({ url: system.ready.gateways[0] ?? '', apiKey: credentials.apiKey }),
  used: 0,
});
