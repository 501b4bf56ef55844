import { arch, cpus, release, totalmem, type } from 'node:os';

const BYTES_PER_GIB = 2 ** 30;

/** The machine on which figures were measured. */
export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
};

export const describeMachine = (): Machine => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / BYTES_PER_GIB),
  system: `${type()} ${release()} ${arch()}`,
});
