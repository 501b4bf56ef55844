import { join } from 'node:path';

/** Where the compiled form of a demo contract is checked in. */
export const artifactFile = (contract: string): string =>
  join(import.meta.dirname, `${contract}.artifact.json`);
