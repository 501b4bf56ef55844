import { readFileSync } from 'node:fs';
import type { Environment } from './config.ts';
import { type ChainFile, parseChainFile, type ReadOptions } from './contracts/chain-file.ts';
import { ServiceError } from './errors.ts';

/**
 * Reads the file that CHAINS_FILE names; see `parseChainFile`.
 *
 * @throws ServiceError `config-invalid`
 */
export function readChainFile(path: string, env: Environment, options: ReadOptions = {}): ChainFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new ServiceError('config-invalid', `the chain file ${path} cannot be read`);
  }
  return parseChainFile(text, env, options);
}
