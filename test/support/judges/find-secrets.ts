import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningSystem } from '../systems/running-system.ts';

/** A part of a secret reveals it too: a log line may be cut. */
const PART_CHARS = 16;

/**
 * Searches everything a system has printed for the secrets that were used with it: its own API key,
 * signing secret, operator's password and key rings, and the given ones.
 *
 * @returns the names of the secrets found, never the secrets
 */
export function findSecrets(system: RunningSystem, more: Readonly<Record<string, string>> = {}): string[] {
  const stored = JSON.parse(readFileSync(join(system.dataDir, 'local-secrets.json'), 'utf8')) as {
    app: { apiKey: string; webhookSecret: string };
    operator: { password: string };
    idKeys: string;
    secretKeys: string;
  };
  const secrets = {
    apiKey: stored.app.apiKey.replace(/^rck_live_/, ''),
    webhookSecret: stored.app.webhookSecret.replace(/^whsec_/, ''),
    ownApiKey: system.ready.app.apiKey.replace(/^rck_live_/, ''),
    ownWebhookSecret: system.ready.app.webhookSecret.replace(/^whsec_/, ''),
    operatorPassword: stored.operator.password,
    idKeys: stored.idKeys.replace(/^1:/, ''),
    secretKeys: stored.secretKeys.replace(/^1:/, ''),
    ...more,
  };
  const log = system.log();
  return Object.entries(secrets).flatMap(([name, secret]) =>
    log.includes(secret.slice(0, PART_CHARS)) ? [name] : [],
  );
}
