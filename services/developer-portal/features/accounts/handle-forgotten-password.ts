import type { Account } from '#shared/contracts/apps/client-app.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import type { Accounts } from '#shared/stores/apps/accounts.ts';
import type { Handlers } from '../../http/call.ts';
import type { Mailer, Message } from './mailer.ts';
import type { ResetLinks } from './reset-links.ts';

const HOUR_MS = 3_600_000;
/** Counted for every address that is typed, whether or not it has an account. */
const LINKS_OF_ONE = { name: 'reset-mail', countMax: 3, windowMs: HOUR_MS } as const;
const LINKS_OF_ADDRESS = { name: 'reset-mail-address', countMax: 20, windowMs: HOUR_MS } as const;
/** The actor of the link's audit entry: nobody is signed in. */
const ACTOR = 'portal';

type Dependencies = {
  readonly accounts: Pick<Accounts, 'findByEmail'>;
  readonly resetLinks: Pick<ResetLinks, 'make'>;
  readonly throttle: Pick<Throttle, 'take'>;
  /** Absent if the portal sends no e-mail. */
  readonly mail: { readonly mailer: Pick<Mailer, 'send'>; readonly origin: string } | undefined;
};

/** A link for a forgotten password, sent to the account's own address. */
export function makeForgottenPasswordHandlers({
  accounts,
  resetLinks,
  throttle,
  mail,
}: Dependencies): Handlers<'readSignInOptions' | 'requestResetLink'> {
  return {
    readSignInOptions: async () => ({ resetLinkByEmail: mail !== undefined }),
    async requestResetLink({ body: { email }, address }) {
      if (!mail)
        throw new ServiceError('conflict', 'this portal sends no e-mail; ask an operator for a link');
      await throttle.take([
        { budget: LINKS_OF_ONE, owner: email.toLowerCase() },
        { budget: LINKS_OF_ADDRESS, owner: address },
      ]);
      // The account is looked up after the answer, so that neither answer nor duration shows whether it exists.
      mail.mailer.send(address, async () => {
        const account = await accounts.findByEmail(email);
        if (!account || account.operator) return undefined;
        const { token } = await resetLinks.make(ACTOR, account);
        return messageOf(account, `${mail.origin}/reset-password#${token}`);
      });
      return {};
    },
  };
}

const messageOf = ({ email, twoFactor }: Account, link: string): Message => ({
  to: email,
  subject: 'Set a new password for Rolecall',
  text: `Somebody, probably you, asked for a new password for the Rolecall account ${email}.

Open this link to set it. It works once, for an hour:

${link}

All sessions end with the new password.${twoFactor ? ' Signing in still needs a code of your authenticator app.' : ''}
If you did not ask for it, ignore this message: your password stays as it is.
`,
});
