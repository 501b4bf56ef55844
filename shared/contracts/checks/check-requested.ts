import { z } from 'zod';
import { Consistency, OnUndetermined, Rule, RuleSetReference } from '../rules/rule.ts';
import { SignInRequest } from '../sign-in/sign-in-request.ts';
import { defineTopic, ofRequest } from '../topic.ts';
import { Delivery } from '../webhooks/delivery.ts';
import { PROOF_ALGS } from './proof-claims.ts';

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);

/** The wallets of one person, as the client wrote them. */
export const Wallets = z.object({
  /** The only wallet, or the first of `accounts`. */
  account: Address,
  /** All wallets, where the client named them by `accounts`. */
  accounts: z.array(Address).min(1).max(16).optional(),
  /** Wallets that may have delegated to one of them. */
  vaults: z.array(Address).max(16).optional(),
});
export type Wallets = z.infer<typeof Wallets>;

/** The data that a signed verdict needs beside the result. */
export const ProofRequest = z.object({
  seconds: z.number().int().min(30).max(86_400),
  alg: z.enum(PROOF_ALGS),
  /** As `RuleSetReference.digest`, with the `onUndetermined` in effect. */
  rulesDigest: z.string(),
});
export type ProofRequest = z.infer<typeof ProofRequest>;

/** What a check, and each part of a batch, asks for. */
export const asked = {
  rules: z.array(Rule).min(1).max(1000),
  /** Where the rules came from, if not from the request itself. */
  ruleSet: RuleSetReference.optional(),
  /** Whether the result tells the amounts that were compared. */
  explain: z.boolean().optional(),
  proof: ProofRequest.optional(),
  onUndetermined: OnUndetermined,
  consistency: Consistency,
  /** SHA-256 (hex) of the idempotency key and of the validated body; a lost claim is rebuilt from
   * them. */
  idempotency: z.object({ keyHash: z.string(), bodyHash: z.string() }).optional(),
  /** The calendar month (UTC, `2026-11`) whose quota was charged. */
  chargedMonth: z.string().optional(),
};

/** Gateway → evaluator: judge each rule against the holdings of the wallets. */
export const CheckRequested = z.object({
  ...ofRequest,
  keyId: z.string(),
  ...Wallets.shape,
  ...asked,
  signIn: SignInRequest.optional(),
  delivery: Delivery,
  /** Sync only: the client's answer is due then. The evaluator ends before it. */
  deadlineAt: z.iso.datetime().optional(),
});
export type CheckRequested = z.infer<typeof CheckRequested>;

const lane = (name: string, isUrgent = false) =>
  defineTopic({
    name,
    isUrgent,
    schema: CheckRequested,
    keyOf: (message) => message.requestId,
    partitionCount: 24,
    retention: 'checks',
    messageMibMax: 2,
  });

/** The lane of sync checks: a bulk backlog cannot delay them. */
export const checkRequestedInteractive = lane('check.requested.interactive.v1', true);
/** The lane of asynchronous checks. */
export const checkRequestedBulk = lane('check.requested.bulk.v1');

export type Lane = 'interactive' | 'bulk';
export const LANES = { interactive: checkRequestedInteractive, bulk: checkRequestedBulk } as const;
