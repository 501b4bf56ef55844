import { randomBytes } from 'node:crypto';
import { setTimeout as delay, setInterval as every } from 'node:timers/promises';
import { API_KEY_RANDOM_BYTES, makeApiKey } from '#shared/contracts/apps/api-key.ts';
import { makePasswords } from '../../../services/developer-portal/features/accounts/passwords.ts';
import { keyRecord } from '../../../services/developer-portal/features/apps/credentials.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { makePortalClient, PASSWORD, type PortalClient } from '../../support/systems/start-portal.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Scene } from '../fault.ts';
import { balance } from '../system/balance.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';
import { createApp } from '../system/create-app.ts';
import { keepHalfSent } from './half-requests.ts';

const KEYS = 1_000;
const KEYS_AT_ONCE = 20;
const APPS = 1_000;
/** More connections than the 256 that one client app may hold of 512. */
const HALVES_PER_GATEWAY = 300;
const HALVES_AT_PORTAL = 510;
const HANGING_ORIGINS = 300;
const CHECKS_PER_SECOND = 50;

/** Counts of a hostile client's successes. */
type Attack = {
  readonly counts: () => { readonly keysUsed: number; readonly appsMade: number; readonly hanging: number };
  readonly end: () => Promise<void>;
};

/** An approved client app with all 1 000 keys of its tier, and its owner signed in at the
 * portal. */
export async function makeHostileClient(system: ChaosSystem) {
  const { clientId, apiKey } = await createApp(system, 'Hostile');
  const { open } = system;
  const more = Array.from({ length: KEYS - 1 }, () => makeApiKey(randomBytes(API_KEY_RANDOM_BYTES)));
  const createdAt = new Date(open.clock.now()).toISOString();
  const records = more.map((key, i) =>
    keyRecord({ keyId: `key_hostile${i}`, apiKey: key }, { name: 'more' }, createdAt),
  );
  const auditEntry = { actor: 'hostile', action: 'key-created', subject: clientId };
  // Written in one document, as the portal would write the last of a thousand keys.
  const { accountId } = await tried('the keys', () =>
    open.writes.app(clientId, auditEntry, (current) =>
      current && current.keys.length < KEYS ? { ...current, keys: [...current.keys, ...records] } : undefined,
    ),
  );
  const owner = await tried('the account', () => open.accounts.read(accountId));
  const hash = await makePasswords().hash(PASSWORD, 'hostile');
  await tried('the password', () => open.accountWork.setPassword('hostile', accountId, hash));
  const portal = makePortalClient(system.ready.portal, owner.email);
  const { status } = await portal.send('POST', '/api/sign-in', { email: owner.email, password: PASSWORD });
  if (status !== 200) throw new Error(`the hostile client cannot sign in: ${status}`);
  return { apiKey, keys: [apiKey, ...more], portal };
}

/** The load is running: a request to a store that times out is repeated. */
const tried = <T>(what: string, work: () => Promise<T>): Promise<NonNullable<T>> =>
  waitUntil<NonNullable<T>>(what, async () => (await work().catch(() => undefined)) ?? undefined);

type HostileClient = Awaited<ReturnType<typeof makeHostileClient>>;

/** Does everything at once that one client can do to others. */
export async function startAttack({ system, scope }: Scene, hostile: HostileClient): Promise<Attack> {
  const ended = new AbortController();
  const counts = { keysUsed: 0, appsMade: 0 };
  const receiver = scope.use(await receiveWebhooks({ host: '0.0.0.0', answer: () => undefined }));
  const halves = new DisposableStack();
  for (const { url } of system.gateways)
    halves.use(
      keepHalfSent(
        {
          url,
          path: '/access-control/check-roles',
          headers: { 'x-api-key': hostile.apiKey, 'content-type': 'application/json' },
        },
        HALVES_PER_GATEWAY,
      ),
    );
  const { portal } = system.ready;
  const form = { origin: portal, 'content-type': 'application/json' };
  halves.use(keepHalfSent({ url: portal, path: '/api/sign-in', headers: form }, HALVES_AT_PORTAL));
  const work = Promise.all([
    useKeys(system, hostile.keys, ended.signal, () => (counts.keysUsed += 1)),
    churnApps(hostile.portal, ended.signal, () => (counts.appsMade += 1)),
    sendToHanging({ system, scope }, hostile.apiKey, receiver.url, ended.signal),
  ]);
  return {
    counts: () => ({ ...counts, hanging: receiver.deliveries.length }),
    async end() {
      ended.abort();
      halves.dispose();
      await work;
    },
  };
}

/** Uses each key once at each gateway. */
async function useKeys(
  { gateways }: ChaosSystem,
  keys: readonly string[],
  signal: AbortSignal,
  onUsed: () => void,
): Promise<void> {
  const left = [...keys];
  const useNext = async (): Promise<void> => {
    for (let key = left.pop(); key !== undefined && !signal.aborted; key = left.pop()) {
      const headers = { 'x-api-key': key };
      const answers = await Promise.all(
        gateways.map(({ url }) => fetch(`${url}/access-control/chains`, { headers }).catch(() => undefined)),
      );
      for (const answer of answers) await answer?.text();
      if (answers.every((answer) => answer?.status === 200)) onUsed();
    }
  };
  await Promise.all(Array.from({ length: KEYS_AT_ONCE }, useNext));
}

/** Makes apps and deletes them, as many as the limits allow. */
async function churnApps(portal: PortalClient, signal: AbortSignal, onMade: () => void): Promise<void> {
  for (let i = 0; i < APPS && !signal.aborted; i += 1) {
    const { status, body } = await portal.send<{ clientId: string }>('POST', '/api/apps', { name: 'churn' });
    if (status === 201) {
      onMade();
      await portal.send('DELETE', `/api/apps/${body.clientId}`);
    } else await delay(REFUSED_PAUSE_MS);
  }
}

const REFUSED_PAUSE_MS = 250;

/** Checks whose webhooks go to origins that never answer: each address of 127.0.0.0/8 is one. */
async function sendToHanging(
  { system, scope }: Pick<Scene, 'system' | 'scope'>,
  apiKey: string,
  url: string,
  signal: AbortSignal,
): Promise<void> {
  const client = scope.use(balance(system.gateways, apiKey));
  const { chain } = system;
  const underWay = new Set<Promise<unknown>>();
  let count = 0;
  for await (const _ of every(1_000 / CHECKS_PER_SECOND)) {
    if (signal.aborted) break;
    const place = count++ % HANGING_ORIGINS;
    const callbackUrl = url.replace('0.0.0.0', `127.1.${Math.floor(place / 100)}.${(place % 100) + 1}`);
    const sending = client
      .check({ account: chain.holder, rules: [demoRules(chain).native()], callbackUrl })
      .catch(() => undefined)
      .finally(() => underWay.delete(sending));
    underWay.add(sending);
  }
  await Promise.all(underWay);
}
