import type { AccountBytes } from '#shared/fairness/account-bytes.ts';
import type { LeasedSlots } from '#shared/fairness/leased-slots.ts';
import type { Throttle } from '#shared/fairness/throttle.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { AuditTrail } from '#shared/stores/audit/audit-trail.ts';
import type { WriteTimeouts } from './write-document.ts';

/** The dependencies of every writer of documents that belong to a client app: rule sets and watches. */
export type WriteDependencies = {
  /** Keeps the number of documents of an app within its limit. */
  readonly slots: LeasedSlots;
  /** Keeps the writes of a day within their budget. */
  readonly throttle: Pick<Throttle, 'take'>;
  /** Refuses a write whose account has used its bytes of the day; deletions are not refused. */
  readonly requireRoom: AccountBytes['requireRoom'];
  readonly auditTrail: Pick<AuditTrail, 'record'>;
  readonly publish: KafkaConnection['publish'];
  readonly timeoutsMs?: WriteTimeouts;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};
