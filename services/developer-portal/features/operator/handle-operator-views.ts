import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { KeyUse } from '#shared/stores/apps/key-use.ts';
import type { AuditTrail } from '#shared/stores/audit/audit-trail.ts';
import type { BatchList } from '#shared/stores/batches/batch-list.ts';
import { dateOf, dayOf } from '#shared/stores/usage/usage-days.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';
import type { WatchWrites } from '#shared/stores/watches/write-watches.ts';
import type { Deliveries } from '#shared/stores/webhooks/deliveries.ts';
import type { Handlers } from '../../http/call.ts';
import type { ClientAppWork } from '../apps/client-apps.ts';
import { accountIdOf } from '../apps/credentials.ts';
import { presentAccount, presentKey, presentOperatorApp } from '../present.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { WatchAnswer } from '../watches/watch-operations.ts';
import { searchDocuments } from './search-documents.ts';

/** Shown of one account or app. */
const APPS_SHOWN_MAX = 100;
const DELIVERIES_COUNTED_MAX = 100;
const BATCHES_SHOWN_MAX = 10;
const WATCHES_SHOWN_MAX = 25;
const FIRST_PAGE = '0';

type Dependencies = {
  readonly accounts: Pick<Accounts, 'scan' | 'read' | 'findByEmail'>;
  readonly clientApps: Pick<ClientApps, 'scan' | 'read' | 'listOwned' | 'countOwned'>;
  readonly apps: Pick<ClientAppWork, 'read'>;
  readonly auditTrail: Pick<AuditTrail, 'page'>;
  readonly keyUse: Pick<KeyUse, 'read'>;
  readonly sessions: Pick<Sessions, 'list'>;
  readonly deliveries: Pick<Deliveries, 'page'>;
  readonly batchList: BatchList;
  readonly watches: Pick<Watches, 'list'>;
  readonly watchWrites: Pick<WatchWrites, 'presentMany'>;
  readonly readMonthUsed: (clientId: string, month: string) => Promise<number>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Ids = 'listAccounts' | 'readOperatorAccount' | 'listOperatorApps' | 'readOperatorApp' | 'listAudit';

/** Operators' searches over accounts, apps and audit entries, and all that is known of one account or app. */
export function makeOperatorViewHandlers(deps: Dependencies): Handlers<Ids> {
  const { accounts, clientApps, auditTrail } = deps;
  const show = async (app: ClientApp) => presentOperatorApp(app, await accounts.read(app.accountId));
  const monthOf = async ({ clientId }: Pick<ClientApp, 'clientId'>, owner: Account | undefined) => {
    const name = dateOf(dayOf(deps.now())).slice(0, 7);
    const used = await deps.readMonthUsed(clientId, name);
    return { name, used, quota: owner ? limitsOf(owner).requestsPerMonth : 0 };
  };

  /** The account with this id or address. */
  const findAccount = async (text: string): Promise<Account | undefined> => {
    const found = await (ACCOUNT_ID.test(text) ? accounts.read(text) : accounts.findByEmail(text));
    return found && isLive(found) ? found : undefined;
  };
  /** The app with this id, or the apps of the account with this address. */
  const findApps = async (text: string) => {
    const app = APP_ID.test(text) ? await clientApps.read(text) : undefined;
    if (app) return isLive(app) ? [await show(app)] : [];
    const owner = text.includes('@') ? await accounts.findByEmail(text) : undefined;
    return owner ? clientApps.listOwned(owner.accountId, (owned) => presentOperatorApp(owned, owner)) : [];
  };

  return {
    async listAccounts({ query: { query = '', after = FIRST_PAGE } }) {
      const text = query.toLowerCase();
      const exact = after === FIRST_PAGE ? await findAccount(query) : undefined;
      const { found, next } = await searchDocuments(
        accounts.scan,
        (account) => isLive(account) && account.email.toLowerCase().includes(text),
        after,
      );
      const byEmail = sortBy(found, ({ email }) => email);
      const all = unique(exact ? [exact, ...byEmail] : byEmail, ({ accountId }) => accountId);
      const shown = all.map(async (account) => ({
        ...presentAccount(account),
        apps: await clientApps.countOwned(account.accountId),
      }));
      return { accounts: await Promise.all(shown), ...(next !== undefined && { next }) };
    },
    async readOperatorAccount({ param }) {
      const account = await accounts.read(param('accountId'));
      if (!account || !isLive(account)) throw new ServiceError('not-found', 'there is no such account');
      const [owned, sessions] = await Promise.all([
        clientApps.listOwned(account.accountId, (app) => presentOperatorApp(app, account)),
        deps.sessions.list(account),
      ]);
      const shown = owned.slice(0, APPS_SHOWN_MAX).map(async (app) => ({
        ...app,
        month: await monthOf(app, account),
      }));
      return {
        ...presentAccount(account),
        verified: account.verified,
        createdAt: account.createdAt,
        sessions: sessions.length,
        apps: owned.length,
        clientApps: await Promise.all(shown),
      };
    },
    async listOperatorApps({ query: { query = '', suspended, after = FIRST_PAGE } }) {
      const text = query.toLowerCase();
      const isWanted = (app: Pick<ClientApp, 'suspended'>) =>
        suspended === undefined || app.suspended === suspended;
      const exact = after === FIRST_PAGE ? await findApps(query) : [];
      const { found, next } = await searchDocuments(
        clientApps.scan,
        (app) => isLive(app) && isWanted(app) && app.name.toLowerCase().includes(text),
        after,
      );
      const newestFirst = sortBy(found, ({ createdAt }) => createdAt).reverse();
      const shown = [...exact.filter(isWanted), ...(await Promise.all(newestFirst.map(show)))];
      return { apps: unique(shown, ({ clientId }) => clientId), ...(next !== undefined && { next }) };
    },
    async readOperatorApp({ param }) {
      const app = await deps.apps.read(param('clientId'));
      const owner = await accounts.read(app.accountId);
      const [detail, month] = await Promise.all([readDetail(deps, app), monthOf(app, owner)]);
      return { ...presentOperatorApp(app, owner), ...detail, month, limits: limitsOf(owner ?? app.limits) };
    },
    async listAudit({ query: { account, app, action, since, until, before, limit } }) {
      const { entries, next } = await auditTrail.page({
        // Derived from the address, so that entries of deleted accounts are found too.
        accountId: account?.includes('@') ? accountIdOf(account) : account,
        clientId: app,
        action,
        sinceMs: since === undefined ? undefined : Date.parse(since),
        untilMs: until === undefined ? undefined : Date.parse(until),
        before,
        countMax: limit,
      });
      const ids = [...new Set(entries.map(({ accountId }) => accountId))];
      const owners = new Map(
        await Promise.all(ids.map(async (id) => [id, await accounts.read(id)] as const)),
      );
      const shown = entries.map((entry) => {
        const owner = owners.get(entry.accountId);
        return { ...entry, ...(owner && isLive(owner) && { email: owner.email }) };
      });
      return { entries: shown, ...(next !== undefined && { next }) };
    },
  };
}

/** The parts of an app's detail that are read from views of their own. */
async function readDetail(deps: Dependencies, { clientId, createdAt, keys }: ClientApp) {
  const [{ deliveries }, batches, watches, usedAt] = await Promise.all([
    deps.deliveries.page(clientId, { countMax: DELIVERIES_COUNTED_MAX }),
    deps.batchList.list(clientId, { countMax: BATCHES_SHOWN_MAX }),
    deps.watches.list(clientId, { countMax: WATCHES_SHOWN_MAX }),
    deps.keyUse.read(clientId),
  ]);
  const countOf = (wanted: string) => deliveries.filter(({ state }) => state === wanted).length;
  const shown = (await deps.watchWrites.presentMany(watches)) as WatchAnswer[];
  return {
    createdAt,
    keys: keys.map((key) => presentKey(key, usedAt[key.keyId])),
    webhooks: {
      pending: countOf('pending'),
      delivered: countOf('delivered'),
      exhausted: countOf('exhausted'),
      stopped: countOf('stopped'),
    },
    batches,
    watches: shown.map(({ watchId, state, members, ruleSet }) => ({
      watchId,
      state,
      members,
      ruleSet,
    })),
  };
}

const isLive = ({ deletedAt }: Pick<Account | ClientApp, 'deletedAt'>): boolean => deletedAt === undefined;

const ACCOUNT_ID = /^acc_[0-9a-f]{1,64}$/;
const APP_ID = /^app_[0-9a-f]{1,64}$/;

const sortBy = <D>(list: readonly D[], by: (one: D) => string): D[] =>
  [...list].sort((a, b) => by(a).localeCompare(by(b)));

const unique = <D>(list: readonly D[], idOf: (one: D) => string): D[] => [
  ...new Map(list.map((one) => [idOf(one), one])).values(),
];
