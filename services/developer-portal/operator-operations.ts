import * as api from './api.ts';
import * as answers from './api-answers.ts';
import type { Operation } from './operation.ts';

const operator = <P extends string>(path: P) => `/api/operator${path}` as const;

/** The operations that require an operator, by id. */
export const OPERATOR_OPERATIONS = {
  listScopeRequests: {
    method: 'get',
    path: operator('/scope-requests'),
    access: 'operator',
    summary: 'Apps that wait for the scope, the longest-waiting first',
    status: 200,
    answer: answers.ScopeRequestList,
    codes: [],
  },
  approveScope: {
    method: 'post',
    path: operator('/apps/:clientId/approve'),
    access: 'operator',
    summary: 'Approve the scope of an app',
    status: 200,
    answer: answers.OperatorApp,
    codes: ['not-found'],
  },
  rejectScope: {
    method: 'post',
    path: operator('/apps/:clientId/reject'),
    access: 'operator',
    summary: 'Reject the scope of an app, with a reason for its developer',
    body: api.RejectBody,
    status: 200,
    answer: answers.OperatorApp,
    codes: ['not-found'],
  },
  suspendApp: {
    method: 'post',
    path: operator('/apps/:clientId/suspend'),
    access: 'operator',
    summary: "Refuse an app's requests until it is resumed",
    status: 200,
    answer: answers.OperatorApp,
    codes: ['not-found'],
  },
  resumeApp: {
    method: 'post',
    path: operator('/apps/:clientId/resume'),
    access: 'operator',
    summary: 'End a suspension',
    status: 200,
    answer: answers.OperatorApp,
    codes: ['not-found'],
  },
  listAccounts: {
    method: 'get',
    path: operator('/accounts'),
    access: 'operator',
    summary: 'Accounts by e-mail address, at most 200',
    query: api.AccountsQuery,
    status: 200,
    answer: answers.OperatorAccountList,
    codes: [],
  },
  setTier: {
    method: 'post',
    path: operator('/accounts/:accountId/tier'),
    access: 'operator',
    summary: 'Set the tier of an account and the limits of all its apps',
    body: api.TierBody,
    status: 200,
    answer: answers.OperatorAccountAnswer,
    codes: ['not-found'],
  },
  listOperatorApps: {
    method: 'get',
    path: operator('/apps'),
    access: 'operator',
    summary: 'Client apps of all accounts, newest first, at most 500',
    query: api.OperatorAppsQuery,
    status: 200,
    answer: answers.OperatorAppList,
    codes: [],
  },
  countDeadLetters: {
    method: 'get',
    path: operator('/dead-letters'),
    access: 'operator',
    summary: 'Number of unsettled dead-lettered records by topic; topics without any are omitted',
    status: 200,
    answer: answers.DeadLetterCounts,
    codes: [],
  },
} as const satisfies Record<string, Operation>;
