import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { LOCAL_SYSTEM_FILE, LocalSystem } from '../../../services/developer-portal/admin/local-system.ts';
import { ProcessIdentity } from '../processes/process-identity.ts';

/** It holds keys, for the operator's command. */
const FILE_MODE = 0o600;

/** For the operator's command, and for the next starter, which ends the processes of a dead one. */
const SystemFile = LocalSystem.extend({
  starter: ProcessIdentity,
  identities: z.array(ProcessIdentity),
});
export type SystemFile = z.infer<typeof SystemFile>;

/** Written to one side and renamed: a reader never sees half of it. */
export function writeSystemFile(dir: string, system: SystemFile): void {
  const file = join(dir, LOCAL_SYSTEM_FILE);
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(system, null, 2)}\n`, { mode: FILE_MODE });
  renameSync(draft, file);
}

/** Undefined if the file is missing or unreadable. */
export function readSystemFile(dir: string): SystemFile | undefined {
  try {
    return SystemFile.parse(JSON.parse(readFileSync(join(dir, LOCAL_SYSTEM_FILE), 'utf8')));
  } catch {
    return undefined;
  }
}

export const removeSystemFile = (dir: string): void => rmSync(join(dir, LOCAL_SYSTEM_FILE), { force: true });
