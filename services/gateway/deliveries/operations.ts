import { z } from 'zod';
import { DELIVERIES_PATH } from '#shared/contracts/paths.ts';
import { AttemptClass, requestIdOf, WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { RequestId } from '../checks/answers.ts';
import { json, nothing, type Operation } from '../edge/operation.ts';
import { NextPage, pageQuery } from '../edge/parse-query.ts';
import { DELIVERY_TYPES } from './describe-delivery.ts';

const WebhookId = z.string().meta({
  description: 'The `webhook-id` header of the message.',
  example: 'msg_watch_0lDTQ2q2mbmGgCyL1Kkz0o6X1Rvb5pYt',
});
const count = z.number().int().nonnegative();
const lastAttempt = { at: z.iso.datetime(), status: z.number().int().optional(), class: AttemptClass };
const STATUS = '`status` is absent if the receiver did not answer.';

const Attempt = z
  .object({ attempt: z.number().int().positive(), ...lastAttempt, durationMs: z.number().nonnegative() })
  .meta({ id: 'DeliveryAttempt', description: `Counted from 1 again after a resend. ${STATUS}` });

const summary = {
  webhookId: WebhookId,
  type: z
    .enum(DELIVERY_TYPES)
    .meta({ id: 'DeliveryType', description: '`check.completed` for the message of a check.' }),
  requestId: RequestId.optional().meta({ description: 'Of a check or a batch.' }),
  watchId: z
    .string()
    .optional()
    .meta({ description: 'Of an event of a watch, as long as its body is kept: 72 h.' }),
  state: WebhookState.meta({
    description:
      '`exhausted` after the last attempt, `stopped` by a 410; only a `pending` one cannot be resent.',
  }),
};
const LastAttempt = z.object(lastAttempt).meta({ id: 'LastAttempt', description: STATUS }).optional();

const Delivery = z.object({ ...summary, attempts: count, lastAttempt: LastAttempt }).meta({ id: 'Delivery' });
const DeliveryList = z.object({ deliveries: z.array(Delivery), next: NextPage }).meta({ id: 'DeliveryList' });
const DeliveryWithAttempts = z
  .object({
    ...summary,
    attempts: z.array(Attempt).meta({ description: 'Oldest first.' }),
    lastAttempt: LastAttempt,
  })
  .meta({ id: 'DeliveryWithAttempts' });

export const ResendFailedBody = z
  .strictObject({ since: z.iso.datetime({ offset: true }) })
  .meta({ id: 'ResendFailedBody' });

const DELIVERY = `${DELIVERIES_PATH}/:webhookId`;
const params = { webhookId: WebhookId };

/** The webhooks of a client app. Reads cost the poll rate, resends the rate and the webhooks that
 * an app may resend in a day; none costs quota. */
export const DELIVERY_OPERATIONS = {
  listDeliveries: {
    method: 'get',
    path: DELIVERIES_PATH,
    access: 'read',
    summary: 'List the webhook deliveries, newest first',
    description:
      'The newest 10 000. A page may have fewer entries than `limit`, even none; `next` is present if there may be more.',
    query: pageQuery(WebhookId, (text) => requestIdOf(text) !== undefined).extend({
      state: z
        .union([WebhookState, z.literal('')], {
          error: `must be one of ${WebhookState.options.join(', ')}`,
        })
        .optional()
        .meta({ description: 'Only deliveries in this state; an empty value counts as absent.' }),
    }),
    answers: { 200: json('A page of the list.', DeliveryList) },
    codes: [],
  },
  // Before the operations on a `webhookId`, which would take its path.
  resendFailed: {
    method: 'post',
    path: `${DELIVERIES_PATH}/resend-failed`,
    access: 'manage',
    summary: 'Send all webhooks again that failed since an instant',
    description:
      'Those that were exhausted, or stopped by a 410, then or later. At most 6 requests of an app in a minute, and ' +
      '300 000 webhooks in 24 hours.',
    body: ResendFailedBody,
    bodyExamples: { since: { value: { since: '2026-11-20T10:00:00Z' } } },
    answers: { 202: json('So many are sent again.', z.object({ count }).meta({ id: 'ResendCount' })) },
    codes: [],
  },
  readDelivery: {
    method: 'get',
    path: DELIVERY,
    access: 'read',
    summary: 'Read a webhook delivery with its attempts',
    params,
    answers: { 200: json('The delivery.', DeliveryWithAttempts) },
    codes: ['delivery-not-found'],
  },
  resendDelivery: {
    method: 'post',
    path: `${DELIVERY}/resend`,
    access: 'manage',
    summary: 'Send a webhook again, with the same bytes and the same id',
    params,
    answers: { 202: nothing('It is sent again, with the whole schedule.') },
    codes: ['delivery-not-found', 'delivery-pending'],
  },
} as const satisfies Record<string, Operation>;
