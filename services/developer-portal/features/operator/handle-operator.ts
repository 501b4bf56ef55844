import type { Account, ClientApp } from '#shared/contracts/apps/client-app.ts';
import { limitsOf } from '#shared/contracts/apps/tiers.ts';
import { ServiceError } from '#shared/errors.ts';
import { validationFailed } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers, OperationId } from '../../http/operations.ts';
import { existing } from '../basis.ts';
import { presentAccount, presentOperatorApp, withUse } from '../present.ts';
import {
  listScopeRequests,
  pageAudit,
  searchDocuments,
  setTier,
  showOperatorAccount,
  showOperatorApp,
} from './operate.ts';
import type { OPERATOR_OPERATIONS } from './operator-operations.ts';

/** Shown of one account or app. */
const APPS_SHOWN_MAX = 100;
const DELIVERIES_COUNTED_MAX = 100;
const BATCHES_SHOWN_MAX = 10;
const WATCHES_SHOWN_MAX = 25;
const FIRST_PAGE = '0';

export function makeOperatorHandlers(deps: Dependencies): Handlers<keyof typeof OPERATOR_OPERATIONS> {
  const { accounts, clientApps, apps, sessions, auditAccess } = deps;

  /** The account of a user who is not an operator: one operator must not take over another's
   * account. */
  const developer = async (accountId: string, what: string): Promise<Account> => {
    const target = existing(await accounts.read(accountId), 'there is no such account');
    if (target.operator)
      throw new ServiceError('conflict', `an operator's ${what} can only be reset with \`npm run admin\``);
    return target;
  };

  /** Changes an app, and shows it. */
  const changing =
    (change: (actor: string, clientId: string) => Promise<ClientApp>) =>
    async ({ account, param }: Pick<Call<OperationId>, 'account' | 'param'>) =>
      showOperatorApp(deps, await change(account.accountId, param('clientId')));

  /** The account with this id or address. */
  const findAccount = async (text: string): Promise<Account | undefined> => {
    const found = await (ACCOUNT_ID.test(text) ? accounts.read(text) : accounts.findByEmail(text));
    return found && isLive(found) ? found : undefined;
  };
  /** The app with this id, or the apps of the account with this address. */
  const findApps = async (text: string) => {
    const app = APP_ID.test(text) ? await clientApps.read(text) : undefined;
    if (app) return isLive(app) ? [await showOperatorApp(deps, app)] : [];
    const owner = text.includes('@') ? await accounts.findByEmail(text) : undefined;
    return owner ? clientApps.listOwned(owner.accountId, (owned) => presentOperatorApp(owned, owner)) : [];
  };

  return {
    listScopeRequests: () => listScopeRequests(deps),
    approveScope: changing(apps.approveScope),
    rejectScope: (call) => changing((actor, id) => apps.rejectScope(actor, id, call.body.reason))(call),
    suspendApp: changing(apps.suspend),
    resumeApp: changing(apps.resume),
    async setTier({ account, param, body: { tier, limits } }) {
      if (tier !== 'enterprise' && limits !== undefined)
        throw validationFailed([{ pointer: '/limits', code: 'not-of-tier', detail: ONLY_ENTERPRISE }]);
      return setTier(deps, account.accountId, param('accountId'), tier, limits);
    },
    makeResetLink: async ({ account, param }) =>
      deps.resetLinks.make(account.accountId, await developer(param('accountId'), 'password')),
    async resetTwoFactor({ account, param }) {
      await deps.twoFactor.reset(account.accountId, await developer(param('accountId'), 'second factor'));
    },
    async readChainReports() {
      const names = new Map(deps.chains.map(({ chainId, name }) => [chainId, name]));
      const found = await deps.chainReports.read();
      return found.map((report) => ({ ...report, name: names.get(report.chainId) }));
    },
    async listAccounts({ account: reader, query: { query = '', after = FIRST_PAGE } }) {
      await auditAccess.read(reader.accountId, 'accounts-listed', LISTED);
      const text = query.toLowerCase();
      const exact = after === FIRST_PAGE ? await findAccount(query) : undefined;
      const { found, next } = await searchDocuments(
        accounts.scan,
        (account) => isLive(account) && account.email.toLowerCase().includes(text),
        after,
      );
      const byEmail = sortBy(found, ({ email }) => email);
      const all = unique(exact ? [exact, ...byEmail] : byEmail, ({ accountId }) => accountId);
      const shown = await Promise.all(all.map((account) => showOperatorAccount(deps, account)));
      return { accounts: shown, next };
    },
    async readOperatorAccount({ account: reader, param }) {
      const account = existing(await accounts.read(param('accountId')), 'there is no such account');
      const { accountId } = account;
      await auditAccess.read(reader.accountId, 'account-read', accountId, { accountId });
      const [owned, open] = await Promise.all([
        clientApps.listOwned(account.accountId, (app) => presentOperatorApp(app, account)),
        sessions.list(account),
      ]);
      const shown = owned.slice(0, APPS_SHOWN_MAX).map(async (app) => ({
        ...app,
        month: await deps.readMonth(app.clientId, account),
      }));
      return {
        ...presentAccount(account),
        sessions: open.length,
        apps: owned.length,
        clientApps: await Promise.all(shown),
      };
    },
    async listOperatorApps({ account: reader, query: { query = '', suspended, after = FIRST_PAGE } }) {
      await auditAccess.read(reader.accountId, 'apps-listed', LISTED);
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
      const shown = [
        ...exact.filter(isWanted),
        ...(await Promise.all(newestFirst.map((app) => showOperatorApp(deps, app)))),
      ];
      return { apps: unique(shown, ({ clientId }) => clientId), next };
    },
    async readOperatorApp({ account: reader, param }) {
      const clientId = param('clientId');
      const app = await apps.read(clientId);
      const { accountId } = app;
      await auditAccess.read(reader.accountId, 'app-read', clientId, { accountId, clientId });
      const owner = await accounts.read(app.accountId);
      const [detail, month] = await Promise.all([readDetail(deps, app), deps.readMonth(clientId, owner)]);
      const shown = { ...presentOperatorApp(app, owner), createdAt: app.createdAt, ...detail };
      return { ...shown, month, limits: limitsOf(owner ?? app.limits) };
    },
    listAudit({ query: { since, until, after: before, limit: countMax, ...query } }) {
      const ms = (text: string | undefined) => (text === undefined ? undefined : Date.parse(text));
      return pageAudit(deps, { ...query, before, countMax, sinceMs: ms(since), untilMs: ms(until) });
    },
  };
}

/** The subject of a search, whose text may name a person. */
const LISTED = 'all accounts';
const ONLY_ENTERPRISE = 'Only enterprise accounts have limits of their own.';

/** The parts of an app's detail that are read from views of their own. */
async function readDetail(deps: Dependencies, { clientId, keys }: ClientApp) {
  const [{ deliveries }, batches, { watches }, usedAt] = await Promise.all([
    deps.deliveries.page(clientId, { countMax: DELIVERIES_COUNTED_MAX }),
    deps.batchList.list(clientId, { countMax: BATCHES_SHOWN_MAX }),
    deps.watches.list(clientId, { countMax: WATCHES_SHOWN_MAX }),
    deps.keyUse.read(clientId),
  ]);
  const countOf = (wanted: string) => deliveries.filter(({ state }) => state === wanted).length;
  return {
    keys: withUse(keys, usedAt),
    webhooks: {
      pending: countOf('pending'),
      delivered: countOf('delivered'),
      exhausted: countOf('exhausted'),
      stopped: countOf('stopped'),
    },
    batches,
    watches: await deps.watchWrites.presentMany(watches),
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
