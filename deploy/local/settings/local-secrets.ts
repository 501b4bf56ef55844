import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { newCredentials } from '../../../services/developer-portal/features/apps/credentials.ts';

const KEY_BYTES = 32;
const PASSWORD_BYTES = 12;
const FILE_MODE = 0o600;

const LocalSecrets = z.object({
  app: z.object({ clientId: z.string(), apiKey: z.string(), webhookSecret: z.string() }),
  operator: z.object({ email: z.string(), password: z.string() }),
  /** `number:base64 of 32 bytes`, comma-separated, in the form of `ROLECALL_…_KEYS`. */
  idKeys: z.string(),
  secretKeys: z.string(),
  /** Ed25519 seeds that sign verdicts. */
  proofKeys: z.string(),
});
export type LocalSecrets = z.infer<typeof LocalSecrets>;

/**
 * The demo app, the operator's login and the keys of a data directory: made on the first start, the
 * same ever after, readable by their owner alone.
 *
 * @throws Error if the file exists and is incomplete.
 */
export function loadLocalSecrets(dir: string): LocalSecrets {
  const file = join(dir, 'local-secrets.json');
  const text = readIfThere(file);
  const kept = text === undefined ? undefined : parse(text, file);
  if (kept?.isWhole) return kept.secrets;
  const secrets = kept?.secrets ?? makeLocalSecrets();
  mkdirSync(dir, { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: FILE_MODE });
  renameSync(draft, file);
  return secrets;
}

const makeKeyRing = (): string => `1:${randomBytes(KEY_BYTES).toString('base64')}`;

const makeLocalSecrets = (): LocalSecrets => ({
  app: newCredentials(),
  operator: { email: 'operator@localhost', password: randomBytes(PASSWORD_BYTES).toString('base64url') },
  idKeys: makeKeyRing(),
  secretKeys: makeKeyRing(),
  proofKeys: makeKeyRing(),
});

/**
 * The secrets of a file. A file from before signed verdicts has no key for them and is incomplete.
 * The cause is left out: it would repeat the text, and the text is secret.
 */
function parse(text: string, file: string): { readonly secrets: LocalSecrets; readonly isWhole: boolean } {
  try {
    const found = JSON.parse(text) as { readonly proofKeys?: unknown };
    const isWhole = found.proofKeys !== undefined;
    return { secrets: LocalSecrets.parse(isWhole ? found : { ...found, proofKeys: makeKeyRing() }), isWhole };
  } catch {
    throw new Error(`${file} is incomplete: restore it, or remove the whole data directory to start over`);
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
