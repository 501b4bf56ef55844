import {
  type AttemptClass,
  type WebhookAttempted,
  WebhookState,
} from '#shared/contracts/webhooks/webhook.ts';

/** One attempt as it is shown. */
export type AttemptView = {
  readonly attempt: number;
  readonly resendCount: number;
  readonly at: string;
  /** Absent if the receiver did not answer. */
  readonly status?: number | undefined;
  readonly durationMs: number;
  readonly class: AttemptClass;
};

/** One delivery as it is shown. */
export type DeliveryView = {
  readonly requestId: string;
  readonly clientId: string;
  readonly callbackUrl: string;
  readonly state: WebhookState;
  readonly resendCount: number;
  readonly acceptedAt: string | undefined;
  readonly retainUntil: string;
  readonly nextAttemptAt: string | undefined;
  /** Oldest first. */
  readonly attempts: readonly AttemptView[];
};

/** An attempt as it is stored: a repeated line is recognised by its bytes. */
export const attemptLineOf = (attempted: WebhookAttempted) => ({
  attempt: attempted.attempt,
  resendCount: attempted.resendCount,
  at: attempted.at,
  status: attempted.status,
  durationMs: attempted.durationMs ?? 0,
  class: attempted.class,
});

/** The fields of a delivery's hash; `delivery-scripts.ts` explains them. */
type Stored = Partial<
  Record<
    | 'clientId'
    | 'callbackUrl'
    | 'state'
    | 'resendCount'
    | 'acceptedAt'
    | 'retainUntil'
    | 'nextAttemptAt'
    | 'attempts',
    string
  >
>;

/** `undefined` for a hash that is missing or incomplete. */
export function parseDelivery(requestId: string, stored: Stored): DeliveryView | undefined {
  const { clientId, callbackUrl, state, retainUntil } = stored;
  if (clientId === undefined || callbackUrl === undefined || state === undefined || retainUntil === undefined)
    return undefined;
  const lines = (stored.attempts ?? '').split('\n').filter((line) => line !== '');
  return {
    requestId,
    clientId,
    callbackUrl,
    state: WebhookState.parse(state),
    resendCount: Number(stored.resendCount),
    acceptedAt: stored.acceptedAt,
    retainUntil,
    nextAttemptAt: stored.nextAttemptAt,
    attempts: lines.map(parseAttemptLine).sort(byStart),
  };
}

const parseAttemptLine = (line: string): AttemptView => JSON.parse(line) as AttemptView;

/** The log of an attempt may be stored after that of a resend that began later. */
const byStart = (a: AttemptView, b: AttemptView): number =>
  Date.parse(a.at) - Date.parse(b.at) || a.resendCount - b.resendCount || a.attempt - b.attempt;
