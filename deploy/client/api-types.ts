import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { makeOpenApi } from '../../services/gateway/docs/openapi.ts';
import { generateTypes, type OpenApiDocument } from './generate-types.ts';

const ROOT = join(import.meta.dirname, '..', '..');
export const TYPES_FILE = join(ROOT, 'shared', 'client', 'api-types.ts');

/**
 * The text that `shared/client/api-types.ts` must have: generated, then formatted as all code is.
 *
 * @throws Error with the message of the formatter
 */
export function formatTypes(): string {
  const biome = join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [biome, 'format', '--stdin-file-path', 'shared/client/api-types.ts'],
    { cwd: ROOT, encoding: 'utf8', input: generateTypes(makeOpenApi('') as unknown as OpenApiDocument) },
  );
  if (status !== 0) throw new Error(`the generated types could not be formatted: ${stderr}`);
  return stdout;
}
