import type { z } from 'zod';
import { BATCH_OPERATIONS } from './features/batches/batch-operations.ts';
import { RESULT_OPERATIONS } from './features/checks/result-operations.ts';
import { OPERATOR_OPERATIONS } from './features/operator/operator-operations.ts';
import { RULE_SET_OPERATIONS } from './features/rule-sets/rule-set-operations.ts';
import { SESSION_OPERATIONS } from './features/sessions/session-operations.ts';
import { TWO_FACTOR_OPERATIONS } from './features/sessions/two-factor-operations.ts';
import { MEMBER_OPERATIONS } from './features/team/member-operations.ts';
import * as usageAnswers from './features/usage/usage-answers.ts';
import { WATCH_OPERATIONS } from './features/watches/watch-operations.ts';
import * as api from './http/api.ts';
import * as answers from './http/api-answers.ts';
import type { Download, Operation, Upload } from './operation.ts';

const APP = '/api/apps/:clientId';

/** Every operation, by its id. */
export const OPERATIONS = {
  signUp: {
    method: 'post',
    path: '/api/sign-up',
    access: 'public',
    summary: 'Create an account; the answer is the same if the address has an account already',
    body: api.SignUpBody,
    status: 202,
    answer: answers.SignUpAnswer,
    codes: ['rate-limited'],
  },
  signIn: {
    method: 'post',
    path: '/api/sign-in',
    access: 'public',
    summary: 'Open a session and set its cookie',
    body: api.SignInBody,
    status: 200,
    answer: answers.SessionAnswer,
    codes: ['credentials-invalid', 'code-required', 'code-invalid', 'rate-limited'],
  },
  signOut: {
    method: 'post',
    path: '/api/sign-out',
    access: 'public',
    summary: 'Close the session, if there is one',
    status: 204,
    codes: [],
  },
  readSession: {
    method: 'get',
    path: '/api/session',
    access: 'session',
    summary: 'Read the account of the session',
    status: 200,
    answer: answers.SessionAnswer,
    codes: [],
  },
  changePassword: {
    method: 'post',
    path: '/api/account/password',
    access: 'session',
    summary: 'Change the password; all other sessions end',
    body: api.ChangePasswordBody,
    endsSomething: true,
    status: 204,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  ...SESSION_OPERATIONS,
  ...TWO_FACTOR_OPERATIONS,
  deleteAccount: {
    method: 'post',
    path: '/api/account/delete',
    access: 'session',
    summary: 'Delete the account and its apps; their keys are refused within a second',
    body: api.DeleteAccountBody,
    endsSomething: true,
    status: 204,
    codes: ['credentials-invalid', 'conflict', 'rate-limited'],
  },
  listApps: {
    method: 'get',
    path: '/api/apps',
    access: 'session',
    summary:
      'The client apps of the account, oldest first, then apps of other accounts of which it is a member',
    isHeavy: true,
    status: 200,
    answer: answers.AppList,
    codes: [],
  },
  createApp: {
    method: 'post',
    path: '/api/apps',
    access: 'session',
    summary: 'Create a client app; its key and secret are returned only once',
    body: api.AppBody,
    isIdempotent: true,
    status: 201,
    answer: answers.CreatedApp,
    codes: ['limit-reached'],
  },
  readApp: {
    method: 'get',
    path: APP,
    access: 'session',
    summary: 'A client app with the displayable parts of its keys and secrets',
    status: 200,
    answer: answers.AppAnswer,
    codes: ['not-found'],
  },
  renameApp: {
    method: 'patch',
    path: APP,
    access: 'session',
    permission: 'manage',
    summary: 'Rename a client app',
    body: api.AppBody,
    status: 200,
    answer: answers.AppAnswer,
    codes: ['not-found'],
  },
  setAlerts: {
    method: 'put',
    path: `${APP}/alerts`,
    access: 'session',
    summary: "Set the address for a client app's alerts at 80 % and 100 % of its monthly quota",
    body: api.AlertsBody,
    status: 200,
    answer: answers.AppAnswer,
    codes: ['not-found', 'callback-url-refused'],
  },
  deleteApp: {
    method: 'delete',
    path: APP,
    access: 'session',
    permission: 'own',
    summary: 'Delete a client app; its keys are refused within a second',
    status: 204,
    codes: ['not-found'],
  },
  createKey: {
    method: 'post',
    path: `${APP}/keys`,
    access: 'session',
    summary: 'Create an API key, returned only once',
    body: api.CreateKeyBody,
    isIdempotent: true,
    status: 201,
    answer: answers.CreatedKey,
    codes: ['not-found', 'limit-reached'],
  },
  revokeKey: {
    method: 'delete',
    path: `${APP}/keys/:keyId`,
    access: 'session',
    summary: 'Revoke a key; it is refused within a second',
    status: 204,
    codes: ['not-found'],
  },
  rollKey: {
    method: 'post',
    path: `${APP}/keys/:keyId/roll`,
    access: 'session',
    summary: 'Replace a key by a new one; the old key stays usable for the overlap',
    body: api.OverlapBody,
    isIdempotent: true,
    status: 201,
    answer: answers.CreatedKey,
    codes: ['not-found', 'conflict', 'limit-reached'],
  },
  rotateSecret: {
    method: 'post',
    path: `${APP}/secret/rotate`,
    access: 'session',
    summary: 'Create a webhook secret, returned only once; earlier secrets sign for the overlap',
    body: api.OverlapBody,
    isIdempotent: true,
    status: 201,
    answer: answers.CreatedSecret,
    codes: ['not-found'],
  },
  requestScope: {
    method: 'post',
    path: `${APP}/scope`,
    access: 'session',
    summary: 'Request the token-gating scope, or update the purpose of the request',
    body: api.ScopeBody,
    status: 200,
    answer: answers.AppAnswer,
    codes: ['not-found', 'conflict'],
  },
  readUsage: {
    method: 'get',
    path: `${APP}/usage`,
    access: 'session',
    summary: 'This month against the quota, and the last 30 days; a check counts once it has its result',
    status: 200,
    answer: usageAnswers.UsageAnswer,
    codes: ['not-found'],
  },
  ...RESULT_OPERATIONS,
  ...RULE_SET_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...WATCH_OPERATIONS,
  ...MEMBER_OPERATIONS,
  readTryOptions: {
    method: 'get',
    path: '/api/try-options',
    access: 'session',
    summary: 'The configured chains, and the demo wallets of a local system',
    status: 200,
    answer: answers.TryOptions,
    codes: [],
  },
  tryCheck: {
    method: 'post',
    path: `${APP}/try`,
    access: 'session',
    summary: "Send a check with one of the app's keys and return the gateway's response",
    body: api.TryBody,
    isIdempotent: true,
    status: 200,
    answer: answers.TryAnswer,
    codes: ['not-found', 'gateway-unavailable'],
  },
  pollTried: {
    method: 'post',
    path: `${APP}/try/:requestId`,
    access: 'session',
    summary: "Poll a check with one of the app's keys, for up to 5 s, and return the gateway's response",
    body: api.PollTriedBody,
    status: 200,
    answer: answers.TryAnswer,
    codes: ['not-found', 'gateway-unavailable'],
  },
  readAppAudit: {
    method: 'get',
    path: `${APP}/audit`,
    access: 'session',
    summary: 'The audit entries of a client app, newest first',
    status: 200,
    answer: answers.AuditList,
    codes: ['not-found'],
  },
  readAccountAudit: {
    method: 'get',
    path: '/api/audit',
    access: 'session',
    summary: 'The audit entries of the account and its apps, newest first',
    isHeavy: true,
    status: 200,
    answer: answers.AuditList,
    codes: [],
  },
  ...OPERATOR_OPERATIONS,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof OPERATIONS;
type Declared = typeof OPERATIONS;

type OutputOf<O, Name extends string> = O extends { readonly [N in Name]: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;

export type BodyOf<Id extends OperationId> = OutputOf<Declared[Id], 'body'>;
export type QueryOf<Id extends OperationId> = OutputOf<Declared[Id], 'query'>;
export type UploadOf<Id extends OperationId> = Declared[Id] extends { readonly upload: string }
  ? Upload
  : undefined;
/** The type that a handler returns: the input of the answer's schema, or a file. */
export type AnswerOf<Id extends OperationId> = Declared[Id] extends {
  readonly answer: infer S extends z.ZodType;
}
  ? z.input<S>
  : Declared[Id] extends { readonly download: readonly string[] }
    ? Download
    : undefined;
