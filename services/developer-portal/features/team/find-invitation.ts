import type { ClientApp, Invitation } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import { sha256 } from '../apps/credentials.ts';
import type { Work } from '../work.ts';
import { openInvitations } from './change-members.ts';

const TOKEN = /^(app_[0-9a-f]{24})\.[\w-]{43}$/;

/** The app and the invitation of a token that the account of this address may accept. */
export async function findInvitation(
  { apps, now }: { readonly apps: Pick<Work['apps'], 'read'>; readonly now: Work['now'] },
  email: string,
  token: string,
): Promise<[ClientApp, Invitation] | undefined> {
  const [, clientId] = TOKEN.exec(token) ?? [];
  const app = clientId === undefined ? undefined : await apps.read(clientId).catch(ignoreNotFound);
  const tokenHash = sha256(token);
  const found = app && openInvitations(app, now()).find((one) => one.tokenHash === tokenHash);
  const isFor = found?.email === undefined || found.email.toLowerCase() === email.toLowerCase();
  return app && found && isFor ? [app, found] : undefined;
}

function ignoreNotFound(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'not-found') throw error;
}
