import { readFileSync } from 'node:fs';
import { type ChainFile, parseChainFile, type ResolveName } from './contracts/chain-file.ts';
import { ServiceError } from './errors.ts';

/**
 * Reads the file that CHAINS_FILE names.
 *
 * @param resolve see `parseChainFile`
 * @throws ServiceError `config-invalid`
 */
export function readChainFile(path: string, resolve?: ResolveName): ChainFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new ServiceError('config-invalid', 'CHAINS_FILE cannot be read');
  }
  return parseChainFile(text, resolve);
}
