import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Linux keeps the files of this folder in memory. */
const IN_MEMORY = '/dev/shm';
/** More than all suites use at once. A container's folder of 64 MiB is too small. */
const FREE_BYTES_MIN = 2 * 1024 ** 3;

/**
 * The folder for the data of the brokers and stores that tests start: in memory if the machine has
 * room. A broker creates hundreds of small files when it first starts, which costs 3.4 CPU seconds
 * in memory and 6.1 on a disk.
 */
export function findDataRoot(): string {
  return freeBytesOf(IN_MEMORY) >= FREE_BYTES_MIN ? IN_MEMORY : tmpdir();
}

/**
 * Creates an empty directory for data, which the caller removes.
 *
 * @example
 * const dir = makeDataDir('e2e'); // '/dev/shm/rolecall-e2e-Xy12zA'
 */
export const makeDataDir = (name: string): string => mkdtempSync(join(findDataRoot(), `rolecall-${name}-`));

function freeBytesOf(folder: string): number {
  if (!existsSync(folder)) return 0;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
