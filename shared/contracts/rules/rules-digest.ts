import { createHash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import type { OnUndetermined } from './rule.ts';

/**
 * The digest of a rule set, as `services/gateway/docs/pages/rules.md` defines it: SHA-256 over the
 * canonical JSON (RFC 8785) of `{ onUndetermined, rules }`, in the form of RFC 9530.
 *
 * @param rules as the client sent them, with the members that are ignored elsewhere
 * @example
 * digestOfRules([{ type: 'NATIVE', chainId: 1, roleId: 'whale' }], 'omit'); // 'sha-256=:…:'
 */
export function digestOfRules(rules: readonly unknown[], onUndetermined: OnUndetermined): string {
  const text = canonicalize({ onUndetermined, rules });
  return `sha-256=:${createHash('sha256').update(text).digest('base64')}:`;
}
