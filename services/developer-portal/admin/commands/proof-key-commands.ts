import { type Command, InvalidArgumentError } from 'commander';
import { type Environment, readSecret } from '#shared/config.ts';
import { ServiceError } from '#shared/errors.ts';
import { newProofKey, publicRingOf } from '#shared/proof-keys.ts';
import { KEY_NUMBER_MAX } from '#shared/secret-box.ts';

/** Prints the value of a subcommand that needs no system: a text as it is, anything else as
 * JSON. */
export type Print = (value: unknown) => void;

/** A new key, by the variables that it belongs in; as lines of an environment file on request. */
function createProofKey(number: number, isEnvFile: boolean): unknown {
  const { privateEntry, publicEntry, kids } = newProofKey(number);
  return isEnvFile
    ? `ROLECALL_PROOF_KEYS=${privateEntry}\nROLECALL_PROOF_PUBLIC_KEYS=${publicEntry}`
    : { kids, ROLECALL_PROOF_KEYS: privateEntry, ROLECALL_PROOF_PUBLIC_KEYS: publicEntry };
}

/** @throws ServiceError `config-invalid` */
function publicProofKeys(env: Environment): unknown {
  const ring = readSecret(env, 'ROLECALL_PROOF_KEYS');
  if (!ring) throw new ServiceError('config-invalid', 'ROLECALL_PROOF_KEYS is not set in the environment');
  return { ROLECALL_PROOF_PUBLIC_KEYS: publicRingOf(ring) };
}

const keyNumber = (text: string): number => {
  const number = /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number <= KEY_NUMBER_MAX))
    throw new InvalidArgumentError(`It must be a whole number of at most ${KEY_NUMBER_MAX}.`);
  return number;
};

/** The subcommands of `admin proof-key`. */
export function addProofKeys(program: Command, print: Print, environment: Environment): void {
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
    .option('--number <n>', 'its number in the rings; the highest number signs', keyNumber, 1)
    .option('--env', 'print lines for an environment file', false)
    .action(({ number, env }) => print(createProofKey(number, env)));
  proofKey
    .command('public')
    .description('print the public ring of the ROLECALL_PROOF_KEYS in the environment')
    .action(() => print(publicProofKeys(environment)));
}
