import type { z } from 'zod';
import { type Fault, faultsOfIssues } from '#shared/contracts/fault.ts';
import type { Request } from './answer.ts';
import { invalid, Problem } from './problem.ts';

/** Room for the largest check that the public API takes at once. */
export const BODY_BYTES_MAX = 256 * 1024;
const FAULTS_MAX = 20;

/** @throws Problem `malformed-json`, `media-type-unsupported`, `body-too-large`, `validation-failed` */
export async function readBody<S extends z.ZodType>(request: Request, schema: S): Promise<z.output<S>> {
  if (!request.is('application/json')) throw new Problem('media-type-unsupported', 'Send application/json.');
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new Problem('media-type-unsupported', 'Send the body without a content-encoding.');
  const bytes = await readBytes(request);
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new Problem('malformed-json', 'The body is not JSON.');
  }
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
  throw invalid(faultsOfIssues(parsed.error.issues, value, faultOf).slice(0, FAULTS_MAX));
}

/** What is said where the schema has no words of its own: never the library's. */
function wordingOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `Must be: ${issue.expected}.`;
    case 'invalid_value':
      return `Must be one of: ${issue.values.join(', ')}.`;
    case 'too_small':
      return issue.origin === 'string' ? 'Too short.' : `At least ${issue.minimum}.`;
    case 'too_big':
      return issue.origin === 'string' ? 'Too long.' : `At most ${issue.maximum}.`;
    case 'invalid_format':
      return issue.format === 'datetime'
        ? 'Must be an instant: 2026-11-21T10:00:00Z.'
        : 'The value is malformed.';
    default:
      return 'The value is malformed.';
  }
}

/** The gateway's words for the kinds of fault. */
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

function readBytes(request: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= BODY_BYTES_MAX) chunks.push(chunk);
      else {
        // What comes after is read and dropped, so that the answer is seen and not a reset.
        chunks.length = 0;
        reject(new Problem('body-too-large', `At most ${BODY_BYTES_MAX} bytes.`));
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the client went away')));
  });
}
