import type { z } from 'zod';
import { type Fault, faultsOfIssues } from '#shared/contracts/fault.ts';
import { validationFailed } from '#shared/http/problem.ts';
import { readJsonBody } from '#shared/http/read-json-body.ts';
import type { Request } from './answer.ts';

const FAULTS_MAX = 20;

/** @throws Problem `malformed-json`, `media-type-unsupported`, `body-too-large`,
 * `validation-failed` */
export async function readBody<S extends z.ZodType>(request: Request, schema: S): Promise<z.output<S>> {
  const json = await readJsonBody(request);
  return parse(schema, json);
}

/** @throws Problem `validation-failed` */
export function readQuery<S extends z.ZodType>(request: Request, schema: S): z.output<S> {
  const { searchParams } = new URL(request.originalUrl, 'http://portal');
  return parse(schema, Object.fromEntries(searchParams));
}

function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const parsed = schema.safeParse(value, { error: wordingOf });
  if (parsed.success) return parsed.data;
  throw validationFailed(faultsOfIssues(parsed.error.issues, value, faultOf).slice(0, FAULTS_MAX));
}

/** The message of a fault for which the schema has none; replaces zod's own messages. */
function wordingOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `Must be of type ${issue.expected}.`;
    case 'invalid_value':
      return `Must be one of: ${issue.values.join(', ')}.`;
    case 'too_small':
      return issue.origin === 'string' ? 'Too short.' : `At least ${issue.minimum}.`;
    case 'too_big':
      return issue.origin === 'string' ? 'Too long.' : `At most ${issue.maximum}.`;
    case 'invalid_format':
      return issue.format === 'datetime'
        ? 'Must be an ISO 8601 instant such as 2026-11-21T10:00:00Z.'
        : 'The value is malformed.';
    default:
      return 'The value is malformed.';
  }
}

/** Fault codes, the same as the gateway's. */
const CODES: Partial<Record<z.core.$ZodIssue['code'], string>> = {
  invalid_type: 'wrong-type',
  invalid_value: 'not-a-choice',
  too_small: 'out-of-range',
  too_big: 'out-of-range',
};

const faultOf = (issue: z.core.$ZodIssue, pointer: string): Fault => ({
  pointer,
  code: CODES[issue.code] ?? 'malformed',
  detail: issue.message,
});
