/** The environment variables that hold the addresses of a test's infrastructure. */
export const VARIABLES = {
  brokers: 'TEST_KAFKA_BROKERS',
  redisUrl: 'TEST_REDIS_URL',
  rpcUrl: 'TEST_RPC_URL',
} as const;

/** The addresses of the infrastructure that suites share, one after the other. */
export type Infrastructure = Readonly<Record<keyof typeof VARIABLES, string>>;

/** The infrastructure of this test. */
export function infrastructure(): Infrastructure {
  const read = (name: string): string => {
    const value = process.env[name];
    if (!value) throw new Error(`${name} is not set: run this test by npm test or npm run test:integration`);
    return value;
  };
  return {
    brokers: read(VARIABLES.brokers),
    redisUrl: read(VARIABLES.redisUrl),
    rpcUrl: read(VARIABLES.rpcUrl),
  };
}
