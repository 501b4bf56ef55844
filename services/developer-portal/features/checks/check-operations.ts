import { z } from 'zod';
import { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { DemoChain } from '#shared/contracts/demo-chain.ts';
import { MODES, STATUSES } from '#shared/contracts/usage/day-figures.ts';
import { ROLE_ID_LENGTH_MAX } from '#shared/rules/body-texts.ts';
import { count, DeliveryAnswer, Instant, instant, next, page } from '../../http/api.ts';
import type { Declaration } from '../../http/operation.ts';

/** Filters of the log of checks; a check matches if it meets all of them. */
export const ChecksQuery = z.strictObject({
  requestId: z.string().min(1).max(64).optional(),
  mode: z.enum(MODES).optional(),
  status: z.enum(STATUSES).optional(),
  /** At least one rule ended so. */
  outcome: z.enum(['granted', 'denied', 'undetermined']).optional(),
  /** At least one rule has this code in `errors`. */
  code: UndeterminedCode.optional(),
  /** At least one rule is about this role; of a check with more than 32 roles, 32 are known. */
  roleId: z.string().min(1).max(ROLE_ID_LENGTH_MAX).optional(),
  keyId: z.string().min(1).max(64).optional(),
  since: Instant.optional(),
  ...page,
});
const CheckFacts = LoggedCheck.omit({
  acceptedAtMs: true,
  roleTags: true,
  request: true,
  waitedMs: true,
  storedMs: true,
}).extend({ acceptedAt: instant });
const Tried = z
  .object({
    status: z.number().int(),
    headers: z.record(z.string(), z.string()),
    /** JSON where it is JSON, else text. */
    body: z.unknown(),
    durationMs: z.number().nonnegative(),
    /** The same request for a terminal, with the key as `$ROLECALL_API_KEY`. */
    curl: z.string(),
  })
  .meta({ id: 'Tried' });

const ApiKey = z.string().min(1).max(100);
export const CHECK_OPERATIONS = {
  listChecks: {
    call: 'GET /api/apps/:clientId/checks',
    summary: 'The newest 1 000 checks that have a result, newest first',
    query: ChecksQuery,
    isHeavy: true,
    answer: z.object({ checks: z.array(CheckFacts), next }),
  },
  readCheck: {
    call: 'GET /api/apps/:clientId/checks/:requestId',
    summary: 'One of these checks with its result and its webhook',
    answer: CheckFacts.extend({
      /** The steps that were reached, in order; one whose time is not known is left out. */
      steps: z.array(
        z.object({
          name: z.enum(['accepted', 'started', 'evaluated', 'stored', 'delivered']),
          /** From the acceptance until then, in ms. */
          afterMs: count,
        }),
      ),
      /** The result as clients read it; absent once its retention has ended. */
      result: z.record(z.string(), z.unknown()).optional(),
      /** Of a check with a callback URL. */
      delivery: DeliveryAnswer.optional(),
    }),
  },
  readCheckRequest: {
    call: 'GET /api/apps/:clientId/checks/:requestId/request',
    summary: 'The request of one of these checks, read from the broker while it is kept there (7 days)',
    /** The request of a check, to be sent again. */
    answer: z.object({
      /** As a client sends it, without members that have their default. */
      body: z.record(z.string(), z.unknown()),
      /** The same for a terminal, with the key as `$ROLECALL_API_KEY`. */
      curl: z.string(),
    }),
  },
  readTryOptions: {
    call: 'GET /api/try-options',
    summary: 'The configured chains and whether each can be read, and the demo wallets of a local system',
    answer: z.object({
      /** Configured chains in the order of the chain file; empty if the portal has no chain file. */
      chains: z.array(
        z.object({
          chainId: z.number().int().positive(),
          name: z.string(),
          nativeSymbol: z.string(),
          /** `down`: no endpoint can be read; `unknown`: nobody has asked lately. */
          state: z.enum(['ok', 'down', 'unknown']),
          since: instant.optional(),
        }),
      ),
      /** Where developers reach the gateway. */
      gatewayUrl: z.string(),
      demo: DemoChain.optional(),
    }),
  },
  tryCheck: {
    call: 'POST /api/apps/:clientId/try',
    summary: "Send a check or a batch with one of the app's keys and return the gateway's response",
    body: z.strictObject({
      apiKey: ApiKey,
      /** A check as the public API takes it. */
      check: z.record(z.string(), z.unknown()),
      /** Whether it is a batch, such as the preview of a watch. */
      isBatch: z.boolean().default(false),
    }),
    isIdempotent: true,
    answer: Tried,
    codes: ['gateway-unavailable'],
  },
  pollTried: {
    call: 'POST /api/apps/:clientId/try/:requestId',
    summary: "Poll a check with one of the app's keys, for up to 5 s, and return the gateway's response",
    body: z.strictObject({ apiKey: ApiKey }),
    answer: Tried,
    codes: ['gateway-unavailable'],
  },
  composeSignIn: {
    call: 'POST /api/apps/:clientId/sign-in-messages',
    summary: "Get a nonce with one of the app's keys, and compose the message that a wallet signs",
    body: z.strictObject({
      apiKey: ApiKey,
      /** The wallet, of whatever case. */
      account: z.string().max(64),
      /** One of the app's domains. */
      domain: z.string().max(512),
      chainId: z.number().int().positive(),
    }),
    /** The message of one wallet for one check. */
    answer: z.object({
      /** EIP-4361, for `personal_sign`. */
      message: z.string(),
      /** From then on the gateway refuses its nonce. */
      expiresAt: instant,
    }),
    codes: ['conflict', 'gateway-unavailable'],
  },
} as const satisfies Record<string, Declaration>;
