import type { Command } from 'commander';
import { z } from 'zod';
import { commonConfig, commonEnvironment, type Environment, loadEnvironment } from '#shared/config.ts';
import { aclsOf, adminAcls, kafkaAclsCommand, SERVICES } from '../access/kafka-access.ts';
import { adminRules, redisRulesOf } from '../access/redis-access.ts';
import type { Print } from './proof-key-commands.ts';

/** The `admin` command has a login of its own. */
const ADMIN = 'admin';

/** The subcommands of `admin access`: each user is named after its service. */
export function addAccess(program: Command, print: Print, env: Environment): void {
  const prefixes = () => {
    const { kafka, redis } = commonConfig(loadEnvironment(z.object(commonEnvironment), env));
    return { kafka: kafka.prefix, redis: redis.keyPrefix ?? '' };
  };
  const access = program
    .command('access')
    .description(
      'the least that Kafka and Redis must allow each service, with the SYSTEM_ID in the environment; needs no running system',
    );
  access
    .command('kafka')
    .description('print the commands that add the ACLs, as arguments of kafka-acls.sh')
    .action(() => {
      const { kafka } = prefixes();
      const all = [
        ...SERVICES.map((user) => [user, aclsOf(user, kafka)] as const),
        [ADMIN, adminAcls(kafka)] as const,
      ];
      print(
        all.flatMap(([user, acls]) => acls.map((acl) => ({ user, command: kafkaAclsCommand(user, acl) }))),
      );
    });
  access
    .command('redis')
    .description('print the rules of each user, for ACL SETUSER or an ACL file')
    .action(() => {
      const { redis } = prefixes();
      const all = [
        ...SERVICES.map((user) => [user, redisRulesOf(user, redis)] as const),
        [ADMIN, adminRules(redis)] as const,
      ];
      print(all.map(([user, rules]) => ({ user, rules: rules.join(' ') })));
    });
}
