import { z } from 'zod';
import { NONCES_PATH } from '#shared/contracts/paths.ts';
import { json, type Operation } from '../edge/operation.ts';

export const NonceBody = z.strictObject({});

const Nonce = z
  .object({
    nonce: z
      .string()
      .regex(/^[0-9A-Za-z]{16,64}$/)
      .meta({ description: 'For the `Nonce:` line of the message.' }),
    expiresAt: z.iso.datetime().meta({ description: '10 minutes after it was issued.' }),
  })
  .meta({ id: 'Nonce' });

export const SIGN_IN_OPERATIONS = {
  issueNonce: {
    method: 'post',
    path: NONCES_PATH,
    access: 'check',
    summary: 'Issue a nonce for a sign-in message',
    description:
      'It is for this client app, and used by the first check that presents it in `signIn`. It costs rate and no quota.',
    body: NonceBody.optional(),
    answers: { 201: json('The nonce.', Nonce) },
    codes: [],
  },
} as const satisfies Record<string, Operation>;
