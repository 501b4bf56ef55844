import { z } from 'zod';
import { ClientApp, KeyPermissions, WebhookSecretRecord } from '#shared/contracts/apps/client-app.ts';
import {
  AppRole,
  CallbackUrl,
  count,
  Instant,
  KeyAnswer,
  Limits,
  lines,
  Name,
  ScopeAnswer,
} from '../../http/api.ts';
import { CREATION, type Declaration } from '../../http/operation.ts';
import { mayHave } from './credentials.ts';

/** Domains that one request may name, of which each counts once. */
const DOMAINS_SENT_MAX = 100;
const DOMAIN_CHARS_MAX = 512;

const AppName = z.strictObject({ name: Name });
const Overlap = z.strictObject({ overlapHours: z.number().int().min(0).max(168) });

const App = ClientApp.pick({ clientId: true, name: true, createdAt: true, suspended: true }).extend({
  /** Of the signed-in account in this app. */
  role: AppRole,
  scope: ScopeAnswer,
});
/** `keyCount`: keys that can be used now. */
export const AppSummary = App.extend({ keyCount: count });
const AppAnswer = App.extend({
  /** The operations on this app that the signed-in account may use, by id. */
  operations: z.array(z.string()),
  keys: z.array(KeyAnswer),
  /** Live ones, newest first; the newest has no end. */
  secrets: z.array(WebhookSecretRecord.omit({ encrypted: true })),
  limits: Limits,
  /** The address for alerts about its quota. */
  alertUrl: z.string().optional(),
  domains: z.array(z.string()),
}).meta({ id: 'App' });
const CreatedKey = z.object({ keyId: z.string(), apiKey: z.string() });

export const APP_OPERATIONS = {
  listApps: {
    call: 'GET /api/apps',
    summary:
      'The client apps of the account, oldest first, then apps of other accounts of which it is a member',
    isHeavy: true,
    answer: z.array(AppSummary),
  },
  createApp: {
    call: 'POST /api/apps',
    ...CREATION,
    summary: 'Create a client app; its key and secret are returned only once',
    body: AppName,
    /** The key and the secret are returned only in this answer. */
    answer: z.object({
      clientId: z.string(),
      name: z.string(),
      keyId: z.string(),
      apiKey: z.string(),
      webhookSecret: z.string(),
    }),
    codes: ['limit-reached'],
  },
  readApp: {
    call: 'GET /api/apps/:clientId',
    summary: 'A client app with the displayable parts of its keys and secrets',
    answer: AppAnswer,
  },
  renameApp: {
    call: 'PATCH /api/apps/:clientId',
    permission: 'manage',
    summary: 'Rename a client app',
    body: AppName,
    answer: AppAnswer,
  },
  setAlerts: {
    call: 'PUT /api/apps/:clientId/alerts',
    summary: "Set the address for a client app's alerts at 80 % and 100 % of its monthly quota",
    /** `null` ends the alerts. */
    body: z.strictObject({ callbackUrl: CallbackUrl.nullable() }),
    answer: AppAnswer,
    codes: ['callback-url-refused'],
  },
  setDomains: {
    call: 'PUT /api/apps/:clientId/domains',
    summary: "Set the domains that an app's sign-in messages may be for",
    /** Each the host of a page, with its port if it has one. */
    body: z.strictObject({ domains: z.array(z.string().max(DOMAIN_CHARS_MAX)).max(DOMAINS_SENT_MAX) }),
    answer: AppAnswer,
  },
  deleteApp: {
    call: 'DELETE /api/apps/:clientId',
    permission: 'own',
    summary: 'Delete a client app; its keys are refused within a second',
  },
  createKey: {
    call: 'POST /api/apps/:clientId/keys',
    ...CREATION,
    summary: 'Create an API key, returned only once',
    body: z
      .strictObject({
        name: Name,
        /** In the future; a year ahead and more is allowed. */
        expiresAt: Instant.optional(),
        marketplace: z.boolean().default(false),
        /** Default: all, or `check` of a marketplace key, which may have no other. */
        permissions: KeyPermissions.optional(),
      })
      .refine(({ marketplace, permissions }) => mayHave(marketplace, permissions), {
        path: ['permissions'],
        error: 'A marketplace key has the permission "check" alone.',
      }),
    answer: CreatedKey,
    codes: ['limit-reached'],
  },
  revokeKey: {
    call: 'DELETE /api/apps/:clientId/keys/:keyId',
    summary: 'Revoke a key; it is refused within a second',
  },
  rollKey: {
    call: 'POST /api/apps/:clientId/keys/:keyId/roll',
    ...CREATION,
    summary: 'Replace a key by a new one; the old key stays usable for the overlap',
    body: Overlap,
    answer: CreatedKey,
    codes: ['conflict', 'limit-reached'],
  },
  rotateSecret: {
    call: 'POST /api/apps/:clientId/secret/rotate',
    ...CREATION,
    summary: 'Create a webhook secret, returned only once; earlier secrets sign for the overlap',
    body: Overlap,
    answer: z.object({ webhookSecret: z.string() }),
  },
  requestScope: {
    call: 'POST /api/apps/:clientId/scope',
    summary: 'Request the token-gating scope, or update the purpose of the request',
    body: z.strictObject({ purpose: lines(1_000) }),
    answer: AppAnswer,
    codes: ['conflict'],
  },
} as const satisfies Record<string, Declaration>;
