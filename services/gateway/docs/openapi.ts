import { z } from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { CheckResult, SignInFault } from '#shared/contracts/checks/result.ts';
import { QuotaAlert } from '#shared/contracts/usage/quota-alert.ts';
import { TestEvent } from '#shared/contracts/webhooks/test-event.ts';
import { describeOperations, FaultBody } from '#shared/http/openapi.ts';
import type { Examples } from '#shared/http/operation.ts';
import { BatchCompleted } from '../batches/operations.ts';
import { FOLDING_RULE, RequestId, Result } from '../checks/answers.ts';
import { codesOf, type Operation, problemHeadersOf, statusOf } from '../edge/operation.ts';
import { OPERATIONS } from '../operations.ts';
import { RolesChanged, WatchHeld, WatchRecovered, WatchStalled } from '../watches/answers.ts';
import {
  BATCH_STATUS_EXAMPLE,
  EXAMPLE_CHAIN,
  type ExampleChain,
  QUOTA_ALERT_EXAMPLE,
  RESULT_EXAMPLE,
  TEST_EVENT_EXAMPLE,
} from './examples.ts';

export const OPENAPI_PATH = '/openapi.json';

const FAULTS = { errors: z.array(FaultBody) };

/** The members that a problem has beside those of RFC 9457, by status. */
const PROBLEM_MEMBERS: Readonly<Record<number, z.ZodRawShape>> = {
  403: {
    requestId: RequestId.optional(),
    errors: z
      .array(z.union([FaultBody, SignInFault]))
      .optional()
      .meta({
        description: 'Of `sign-in-refused`: the faults of the messages, or the wallet that is not proved.',
      }),
  },
  410: { requestId: RequestId },
  422: FAULTS,
  429: {
    'violated-policies': z
      .array(
        z.enum(['per-second', 'per-second-poll', 'per-month', 'bytes-per-day', 'writes-per-day', 'resends']),
      )
      .meta({ description: '`per-second` also if an address has sent too many failed keys.' }),
  },
  503: { requestId: RequestId.optional(), errors: CheckResult.shape.errors.optional() },
  504: { requestId: RequestId },
};

const problemMembersOf = (status: number, { isAuthzen }: Operation): z.ZodRawShape =>
  status === 400 && isAuthzen ? { errors: FAULTS.errors.optional() } : (PROBLEM_MEMBERS[status] ?? {});

const TEXT = z.string();
const SIGNATURE_HEADERS = z.object({
  'webhook-id': TEXT.meta({ description: 'The same on every attempt.' }),
  'webhook-timestamp': TEXT.meta({ description: 'Unix seconds of the attempt.' }),
  'webhook-signature': TEXT.meta({ description: 'Space-separated, the newest secret first.' }),
  'X-Service-Signature': TEXT.meta({ description: 'As `webhook-signature`.' }),
});

type Webhook = {
  readonly summary: string;
  readonly description: string;
  readonly schema: z.ZodType;
  readonly examples?: Examples;
};

const OF_WATCHES = 'Signed by Standard Webhooks, with the same attempts as every webhook.';

const WEBHOOKS: Readonly<Record<string, Webhook>> = {
  checkCompleted: {
    summary: 'A check with a `callbackUrl` is completed',
    description: `Signed by Standard Webhooks; the body is the same on every attempt. ${FOLDING_RULE}`,
    schema: Result,
    examples: { holder: { value: RESULT_EXAMPLE } },
  },
  batchCompleted: {
    summary: 'A batch with a `callbackUrl` is completed',
    description: 'Sent once, when the last entry is finished. Signed by Standard Webhooks.',
    schema: BatchCompleted,
    examples: { members: { value: { type: 'batch.completed', ...BATCH_STATUS_EXAMPLE } } },
  },
  quotaThreshold: {
    summary: "80 % or 100 % of an app's monthly quota is used",
    description: 'Sent once per month and threshold to the alert URL of the app, within two minutes.',
    schema: QuotaAlert.meta({ id: 'QuotaAlert' }),
    examples: { nearly: { value: QUOTA_ALERT_EXAMPLE } },
  },
  rolesChanged: { summary: "A member's roles changed", description: OF_WATCHES, schema: RolesChanged },
  watchHeld: {
    summary: 'Revocations of a watch are held back',
    description: OF_WATCHES,
    schema: WatchHeld,
  },
  watchStalled: {
    summary: 'A chain cannot be read for a watch',
    description: OF_WATCHES,
    schema: WatchStalled,
  },
  watchRecovered: {
    summary: 'A chain that could not be read for a watch can be read again',
    description: OF_WATCHES,
    schema: WatchRecovered,
  },
  testEvent: {
    summary: 'A test event is requested in the portal',
    description:
      'Signed by Standard Webhooks, with the same attempts as every webhook. Its lists are empty: change nothing.',
    schema: TestEvent.meta({ id: 'TestEvent' }),
    examples: { test: { value: TEST_EVENT_EXAMPLE } },
  },
};

/** OpenAPI 3.1 names a required permission as a role of the key. */
function securityOf({ access, isAuthzen }: Operation): Record<string, string[]>[] | undefined {
  if (access === 'public') return [];
  if (access === 'any-key') return undefined;
  // AuthZEN's clients send bearer tokens.
  return [{ apiKey: [access] }, ...(isAuthzen ? [{ bearer: [access] }] : [])];
}

/** The receiver checks the signature, and its answer decides on further attempts. */
const describeWebhook = (
  operationId: string,
  { summary, description, schema, examples }: Webhook,
): ZodOpenApiOperationObject => ({
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

/**
 * The OpenAPI 3.1 document, made of the schemas that validate requests and answers.
 *
 * @param publicBaseUrl where the gateway is reached, without a slash at its end; empty for this
 *   very host.
 */
export const makeOpenApi = (publicBaseUrl: string) =>
  describeOperations<Operation>(
    OPERATIONS,
    {
      codesOf,
      securityOf,
      pathParam: TEXT,
      problemMembersOf,
      problemHeadersOf,
      statusOf,
    },
    {
      info: {
        title: 'Rolecall',
        description: 'Given a wallet and a list of token rules, which roles does it have?',
      },
      servers: [{ url: publicBaseUrl === '' ? '/' : publicBaseUrl }],
      security: [{ apiKey: [] }],
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
        schemas: { RequestId },
      },
      webhooks: Object.fromEntries(
        Object.entries(WEBHOOKS).map(([id, webhook]) => [id, { post: describeWebhook(id, webhook) }]),
      ),
    },
  );

/** Members of examples that are named by a chain; those of a request name a block. */
const BY_CHAIN: ReadonlySet<string> = new Set(['blocks', 'blockNumbers', 'minBlock', 'atBlock']);

/**
 * The document with the chain of its examples, its wallets, tokens and block replaced by those of
 * the server: a sample can be sent as it is shown.
 */
export function onChain<Document>(document: Document, example: ExampleChain): Document {
  const names = ['holder', 'stranger', 'erc20', 'erc721', 'erc1155'] as const;
  const byAddress = new Map<unknown, string>(names.map((name) => [EXAMPLE_CHAIN[name], example[name]]));
  const { chainId, block } = EXAMPLE_CHAIN;
  return JSON.parse(JSON.stringify(document), (name, value) => {
    if (name === 'chainId' && value === chainId) return example.chainId;
    if (BY_CHAIN.has(name) && chainId in Object(value))
      return { [example.chainId]: value[chainId] === block ? example.block : value[chainId] };
    // A line of NDJSON.
    if (/^\{.*\}\n$/.test(value)) return `${JSON.stringify(onChain(JSON.parse(value), example))}\n`;
    return byAddress.get(value) ?? value;
  });
}
