import { z } from 'zod';
import { CHAINS_PATH, CHECK_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { CHECK_EXAMPLES, RESULT_EXAMPLE } from '../docs/examples.ts';
import {
  CHECK_CODES,
  header,
  IDEMPOTENCY_KEY,
  json,
  type Operation,
  PREFER,
  PREFERENCE_APPLIED,
  REPLAYED,
  RETRY_AFTER,
} from '../edge/operation.ts';
import { Acknowledgement, ChainList, FOLDING_RULE, KeySet, Pending, Result } from './answers.ts';
import { CheckBody } from './check-body.ts';

const RESULT = { holder: { value: RESULT_EXAMPLE } };

export const CHECK_OPERATIONS = {
  checkRoles: {
    method: 'post',
    path: CHECK_PATH,
    access: 'check',
    summary: 'Check which roles an account has',
    description:
      'Without `async` and `callbackUrl` the answer is the result. With `async: true` it is an acknowledgement, and ' +
      'the result is polled. With `callbackUrl` it is also sent there, signed by Standard Webhooks. ' +
      FOLDING_RULE,
    headers: IDEMPOTENCY_KEY,
    body: CheckBody,
    bodyExamples: CHECK_EXAMPLES,
    answers: {
      200: json(
        'The result. Its `status` is `failed` if nothing was decided and no error is `retryable`, so that another try ' +
          'would give the same result.',
        Result,
        { headers: REPLAYED, examples: RESULT },
      ),
      202: json('The check is accepted: all in-sync replicas of the broker have it.', Acknowledgement, {
        headers: { ...RETRY_AFTER, Location: header('Where the result will be.'), ...REPLAYED },
      }),
    },
    codes: [
      ...CHECK_CODES,
      'sign-in-malformed',
      'sign-in-refused',
      'evaluation-unavailable',
      'deadline-exceeded',
    ],
  },
  readResponse: {
    method: 'get',
    path: `${RESPONSES_PATH}:requestId`,
    access: 'check',
    summary: 'Read the result of a check',
    params: { requestId: z.string().meta({ minLength: 1 }) },
    headers: PREFER,
    answers: {
      200: json('The result, also if the check failed, because the poll succeeded.', Result, {
        headers: PREFERENCE_APPLIED,
        examples: RESULT,
      }),
      202: json('The result is not available yet.', Pending, {
        headers: { ...RETRY_AFTER, ...PREFERENCE_APPLIED },
      }),
    },
    codes: ['request-not-found', 'request-expired'],
  },
  listChains: {
    method: 'get',
    path: CHAINS_PATH,
    access: 'any-key',
    summary: 'List the chains that a rule may name, and whether each can be read',
    answers: { 200: json('The configured chains.', ChainList) },
    codes: [],
  },
  readKeys: {
    method: 'get',
    path: '/.well-known/jwks.json',
    access: 'public',
    summary: 'Read the public keys of signed verdicts',
    description: 'A JWK set (RFC 7517). It needs no API key; keep it for 5 minutes.',
    answers: { 200: { description: 'The keys.', schema: KeySet } },
    codes: [],
  },
} as const satisfies Record<string, Operation>;
