import type { ChainFile } from '#shared/contracts/chain-file.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { PortalConfig } from './config.ts';
import type { Mailer } from './features/accounts/mailer.ts';
import { makePasswords } from './features/accounts/passwords.ts';
import { makeProvePassword } from './features/accounts/prove-password.ts';
import { makeAuditAccess } from './features/audit/audit-access.ts';
import { makeReadRecords } from './features/read-records.ts';
import { makeSessions } from './features/sessions/sessions.ts';
import type { IdentityProvider } from './features/single-sign-on/identity-provider.ts';
import type { Work } from './features/work.ts';
import { makeIdempotency } from './http/idempotency.ts';

type Parts = {
  readonly work: Work;
  readonly kafka: KafkaConnection;
  readonly config: PortalConfig;
  /** The configured chains; empty if the portal does not know them. */
  readonly chains: ChainFile['chains'];
  readonly log: Logger;
  /** Absent if the portal sends no e-mail. */
  readonly mail: { readonly mailer: Pick<Mailer, 'send'>; readonly origin: string } | undefined;
  /** Absent if people sign in by password only. */
  readonly identityProvider: IdentityProvider | undefined;
};

/** All that the portal's handlers use; each takes the parts that it needs. */
export type Dependencies = ReturnType<typeof makeDependencies>;

export function makeDependencies({ work, kafka, log, ...settings }: Parts) {
  const { redis, box, throttle } = work;
  const passwords = makePasswords({ ln: settings.config.passwordCost });
  const sessions = makeSessions(work, settings.config.session);
  return {
    ...work,
    ...settings,
    fetch: globalThis.fetch,
    passwords,
    provePassword: makeProvePassword({ passwords, sessions, throttle, now: work.now }),
    sessions,
    auditAccess: makeAuditAccess({ ...work, log }),
    once: makeIdempotency(redis, box),
    ...makeReadRecords(kafka),
  };
}
