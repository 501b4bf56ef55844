/** The header that says when to come back: whole seconds, rounded up, at least one. */
export const retryAfter = (ms: number): { 'retry-after': string } => ({
  'retry-after': String(Math.max(1, Math.ceil(ms / 1000))),
});
