import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';

const TEXT = z.string();
const SIGNATURE_HEADERS = z.object({
  'webhook-id': TEXT.meta({ description: 'The same on every attempt.' }),
  'webhook-timestamp': TEXT.meta({ description: 'Unix seconds of the attempt.' }),
  'webhook-signature': TEXT.meta({ description: 'Space-separated, the newest secret first.' }),
  'X-Service-Signature': TEXT.meta({ description: 'As `webhook-signature`.' }),
});

type WebhookContent = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly examples?: Readonly<Record<string, { readonly value: object }>>;
};

/**
 * A webhook in the OpenAPI document: the receiver checks the signature, and its answer decides on further attempts.
 *
 * @example
 * webhook({ operationId: 'watchHeld', summary: '…', description: '…', schema: WatchHeld });
 */
export const webhook = ({
  operationId,
  summary,
  description,
  schema,
  examples,
}: WebhookContent): ZodOpenApiOperationObject => ({
  operationId,
  summary,
  description,
  security: [],
  requestParams: { header: SIGNATURE_HEADERS },
  requestBody: {
    required: true,
    content: { 'application/json': { schema, ...(examples && { examples }) } },
  },
  responses: {
    '2XX': { description: 'Delivered. Answer within 15 seconds; process the message afterwards.' },
    410: { description: 'No further attempt.' },
    default: { description: 'Another attempt follows.' },
  },
});
