import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Environment, loadCommonConfig, readSecret } from '#shared/config.ts';
import { EndpointReport } from '#shared/contracts/chain-report.ts';
import { type ErrorCode, ServiceError } from '#shared/errors.ts';
import { newProofKey, publicRingOf } from '#shared/proof-keys.ts';
import { KEY_NUMBER_MAX } from '#shared/secret-box.ts';
import { aclsOf, adminAcls, kafkaAclsCommand, SERVICES } from '../access/kafka-access.ts';
import { adminRules, redisRulesOf } from '../access/redis-access.ts';
import { type Print, wholeNumber } from '../command-line.ts';

/** The `admin` command has a login of its own. */
const ADMIN = 'admin';
const USERS = [...SERVICES, ADMIN] as const;
type User = (typeof USERS)[number];

/** The rights of each service at Kafka and Redis: each user is named after its service. */
function addAccess(program: Command, print: Print, env: Environment): void {
  const access = program
    .command('access')
    .description(
      'the least that Kafka and Redis must allow each service, with the SYSTEM_ID in the environment; needs no running system',
    );
  access
    .command('kafka')
    .description('print the commands that add the ACLs, as arguments of kafka-acls.sh')
    .action(() => {
      const { prefix } = loadCommonConfig(env).kafka;
      const aclsOfUser = (user: User) => (user === ADMIN ? adminAcls(prefix) : aclsOf(user, prefix));
      print(
        USERS.flatMap((user) =>
          aclsOfUser(user).map((acl) => ({ user, command: kafkaAclsCommand(user, acl) })),
        ),
      );
    });
  access
    .command('redis')
    .description('print the rules of each user, for ACL SETUSER or an ACL file')
    .action(() => {
      const { keyPrefix = '' } = loadCommonConfig(env).redis;
      const rulesOf = (user: User) =>
        user === ADMIN ? adminRules(keyPrefix) : redisRulesOf(user, keyPrefix);
      print(USERS.map((user) => ({ user, rules: rulesOf(user).join(' ') })));
    });
}

/** A new key, by the variables that it belongs in; as lines of an environment file on request. */
function createProofKey(number: number, isEnvFile: boolean): unknown {
  const { privateEntry, publicEntry, kids } = newProofKey(number);
  return isEnvFile
    ? `ROLECALL_PROOF_KEYS=${privateEntry}\nROLECALL_PROOF_PUBLIC_KEYS=${publicEntry}`
    : { kids, ROLECALL_PROOF_KEYS: privateEntry, ROLECALL_PROOF_PUBLIC_KEYS: publicEntry };
}

function addProofKeys(program: Command, print: Print, env: Environment): void {
  const proofKey = program
    .command('proof-key')
    .description('keys of signed verdicts; needs no running system')
    .addHelpText(
      'after',
      `
To rotate: create a key with the next number. Add its public entry to ROLECALL_PROOF_PUBLIC_KEYS of every gateway; ten
minutes later add its private entry to ROLECALL_PROOF_KEYS of every evaluator: the highest number signs. Remove the old
private entry at once, and the old public entry two days later, when no proof of it is valid.`,
    );
  proofKey
    .command('create')
    .description('create a key; prints its entry for either ring, once')
    .option(
      '--number <n>',
      'its number in the rings; the highest number signs',
      wholeNumber(0, KEY_NUMBER_MAX),
      1,
    )
    .option('--env', 'print lines for an environment file', false)
    .action(({ number, env }) => print(createProofKey(number, env)));
  proofKey
    .command('public')
    .description('print the public ring of the ROLECALL_PROOF_KEYS in the environment')
    .action(() => {
      const ring = readSecret(env, 'ROLECALL_PROOF_KEYS');
      if (!ring)
        throw new ServiceError('config-invalid', 'ROLECALL_PROOF_KEYS is not set in the environment');
      print({ ROLECALL_PROOF_PUBLIC_KEYS: publicRingOf(ring) });
    });
}

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

/** The commands that need no running system. */
export function addOffline(program: Command, print: Print, env: Environment, check: CheckChainFile): void {
  addAccess(program, print, env);
  addProofKeys(program, print, env);
  program
    .command('chains')
    .description('RPC endpoints of a chain file')
    .command('check <file>')
    .description(
      'tell what each endpoint of a chain file can do, and what to change; the values of ${NAME} come from the environment',
    )
    .action(async (file) => print(await check(file, env)));
}
