import { type Audit, audit } from '#shared/contracts/apps/audit.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { AuditTrail } from '#shared/stores/audit/audit-trail.ts';

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

export type RecordAudit = (entry: Omit<Audit, 'at'> & Partial<Audit>) => Promise<void>;

/** Records audit entries, dated now unless they have a date: the same entry is kept once. */
export function makeRecordAudit({ publish, auditTrail, now }: Dependencies): RecordAudit {
  return async function recordAudit(entry) {
    const dated = { at: new Date(now()).toISOString(), ...entry };
    await publish(audit, dated);
    await auditTrail.record(dated);
  };
}

/** The error of a change that is in effect: the answer must not deny it. */
export const auditMissing = (change: string, cause: unknown): ServiceError =>
  new ServiceError('publish-unknown', `${change}; the audit entry may be missing`, { cause });
