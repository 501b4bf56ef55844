import * as api from './api.ts';
import * as answers from './api-answers.ts';
import * as checks from './check-answers.ts';
import type { Operation } from './operation.ts';

const APP = '/api/apps/:clientId';

/** The outcomes of an app's checks: their results and their webhooks. */
export const RESULT_OPERATIONS = {
  listChecks: {
    method: 'get',
    path: `${APP}/checks`,
    access: 'session',
    summary: 'The newest 1 000 checks that have a result, newest first',
    query: api.ChecksQuery,
    isHeavy: true,
    status: 200,
    answer: checks.CheckPage,
    codes: ['not-found'],
  },
  readCheck: {
    method: 'get',
    path: `${APP}/checks/:requestId`,
    access: 'session',
    summary: 'One of these checks with its result and its webhook',
    status: 200,
    answer: checks.CheckAnswer,
    codes: ['not-found'],
  },
  readCheckRequest: {
    method: 'get',
    path: `${APP}/checks/:requestId/request`,
    access: 'session',
    summary: 'The request of one of these checks, read from the broker while it is kept there (7 days)',
    status: 200,
    answer: checks.CheckRequestAnswer,
    codes: ['not-found'],
  },
  listDeliveries: {
    method: 'get',
    path: `${APP}/deliveries`,
    access: 'session',
    summary: 'Webhook deliveries, newest first',
    query: api.DeliveriesQuery,
    isHeavy: true,
    status: 200,
    answer: answers.DeliveryPage,
    codes: ['not-found'],
  },
  readDelivery: {
    method: 'get',
    path: `${APP}/deliveries/:requestId`,
    access: 'session',
    summary: 'One delivery with its payload and its attempts, oldest first',
    status: 200,
    answer: answers.DeliveryWithPayload,
    codes: ['not-found'],
  },
  resendDelivery: {
    method: 'post',
    path: `${APP}/deliveries/:requestId/resend`,
    access: 'session',
    needs: 'active',
    summary: 'Deliver a webhook again, with the same bytes and the same id',
    isIdempotent: true,
    status: 202,
    answer: answers.RequestIdAnswer,
    codes: ['not-found'],
  },
  resendFailed: {
    method: 'post',
    path: `${APP}/deliveries/resend-failed`,
    access: 'session',
    needs: 'active',
    summary: 'Deliver all webhooks again that failed since an instant, at most 300 000 of an app in 24 hours',
    body: api.ResendFailedBody,
    isIdempotent: true,
    status: 202,
    answer: answers.CountAnswer,
    codes: ['not-found', 'rate-limited'],
  },
  sendTestEvent: {
    method: 'post',
    path: `${APP}/test-event`,
    access: 'session',
    needs: 'active',
    summary: 'Deliver a signed event of type `test`, at most one in 20 s',
    body: api.TestEventBody,
    isIdempotent: true,
    status: 202,
    answer: answers.RequestIdAnswer,
    codes: ['not-found', 'callback-url-refused', 'rate-limited'],
  },
} as const satisfies Record<string, Operation>;
