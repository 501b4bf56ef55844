import type { z } from 'zod';
import type { Request } from './answer.ts';
import { type Fault, invalid, Problem } from './problem.ts';

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
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(parsed.error.issues.slice(0, FAULTS_MAX).map(faultOf));
}

function faultOf(issue: z.core.$ZodIssue): Fault {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : issue.path;
  const isMissing = issue.code === 'invalid_type' && issue.message.includes('received undefined');
  return {
    pointer: path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    code: isMissing ? 'missing' : issue.code.replaceAll('_', '-'),
    detail: isMissing ? 'It is missing.' : issue.message,
  };
}

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
