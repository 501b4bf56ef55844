import type { Request, Response } from 'express';
import { type Problem, problemAnswer } from '#shared/http/problem.ts';

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
  if (value === undefined) response.status(status).set('cache-control', 'no-store').end();
  else sendText(response, status, JSON.stringify(value));
}

/** Sends JSON that is text already. */
export function sendText(response: Response, status: number, json: string): void {
  response.status(status).set('cache-control', 'no-store').type('application/json').send(json);
}

export function sendProblem(response: Response, problem: Problem): void {
  response
    .status(problem.status)
    .set({ ...COMMON_HEADERS, 'cache-control': 'no-store', ...problem.headers })
    .type('application/problem+json')
    .send(problemAnswer(problem, response));
}
