import type { Request, Response } from 'express';
import { instanceOf } from '#shared/http/exchange-trace.ts';
import { type BaseProblem, problemBody } from '#shared/http/problem.ts';

export type { Request, Response };

/** The page needs its own scripts, styles, font and images, and nothing from anywhere else. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** On every answer, whatever it is. */
export const COMMON_HEADERS = {
  'rolecall-version': '1',
  'content-security-policy': CONTENT_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
} as const;

export function sendJson(response: Response, status: number, value: unknown): void {
  response.status(status).set('cache-control', 'no-store');
  if (value === undefined) response.end();
  else response.type('application/json').send(JSON.stringify(value));
}

export function sendProblem(response: Response, problem: BaseProblem<string>): void {
  response
    .status(problem.status)
    .set({ ...COMMON_HEADERS, 'cache-control': 'no-store', ...problem.headers })
    .type('application/problem+json')
    .send(problemBody(problem, instanceOf(response)));
}
