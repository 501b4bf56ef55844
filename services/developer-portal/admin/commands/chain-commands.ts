import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Environment } from '#shared/config.ts';
import { EndpointReport } from '#shared/contracts/chain-report.ts';
import { type ErrorCode, ServiceError } from '#shared/errors.ts';
import type { Print } from './proof-key-commands.ts';

/** Only the evaluator knows how endpoints are read, so its own program checks them. */
const DOCTOR = fileURLToPath(new URL('../../../evaluator/doctor/main.ts', import.meta.url));
/** Reports of 32 000 endpoints, the most that a chain file has. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

const Answer = z.union([
  z.object({ reports: z.array(EndpointReport) }),
  z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
]);

export type CheckChainFile = (file: string, env: Environment) => Promise<EndpointReport[]>;

/** @throws ServiceError `config-invalid` */
export const checkChainFile: CheckChainFile = async (file, env) => {
  const { stdout } = await promisify(execFile)(process.execPath, [DOCTOR, file], {
    env: env as NodeJS.ProcessEnv,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const answer = Answer.parse(JSON.parse(stdout));
  if ('error' in answer) throw new ServiceError(answer.error.code as ErrorCode, answer.error.message);
  return answer.reports;
};

export function addChains(program: Command, print: Print, env: Environment, check: CheckChainFile): void {
  program
    .command('chains')
    .description('RPC endpoints of a chain file')
    .command('check <file>')
    .description(
      'tell what each endpoint of a chain file can do, and what to change; the values of ${NAME} come from the environment',
    )
    .action(async (file) => print(await check(file, env)));
}
