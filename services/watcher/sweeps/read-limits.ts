import type { AppLimits } from '#shared/contracts/apps/client-app.ts';
import { appLimitsOf } from '#shared/contracts/apps/tiers.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';

type Dependencies = {
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly accounts: Pick<Accounts, 'read'>;
};

/** The limits of an app: those of its account, or its own where the view has no such account. */
export const makeReadLimits =
  ({ clientApps, accounts }: Dependencies) =>
  async (clientId: string): Promise<AppLimits | undefined> => {
    const app = await clientApps.read(clientId);
    if (app === undefined || app.deletedAt !== undefined) return undefined;
    const account = await accounts.read(app.accountId);
    return account ? appLimitsOf(account) : app.limits;
  };
