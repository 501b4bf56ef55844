/** Suites wait about as long as they compute, so two cores carry four of them. */
const WORKERS = 4;

/** What every project shares, the container tests' too. */
export const common = {
  testEnvironment: '<rootDir>/test/support/jest/environment.ts',
  runtime: '<rootDir>/test/support/jest/shared-packages-runtime.mjs',
  // Else every run looks through the packages too.
  roots: ['services', 'shared', 'deploy', 'test'].map((folder) => `<rootDir>/${folder}`),
  // These are published as ES modules alone.
  transformIgnorePatterns: ['/node_modules/(?!(jose|qr)/)'],
  transform: {
    '^.+\\.[jt]s$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'commonjs' } },
    ],
  },
};

/** Starts what suites share, once for both projects that use it. */
const shared = {
  globalSetup: '<rootDir>/test/support/jest/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/jest/global-teardown.ts',
};

export default {
  // Beyond every wait of a test, so that what did not come is named.
  testTimeout: 1_200_000,
  maxWorkers: WORKERS,
  testSequencer: '<rootDir>/test/support/jest/suite-order.mjs',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/{services,shared,deploy}/**/*.test.ts',
        '<rootDir>/test/*.test.ts',
        '<rootDir>/test/{contract,chaos,bench,providers,support}/**/*.test.ts',
      ],
    },
    {
      ...common,
      displayName: 'integration',
      testEnvironment: '<rootDir>/test/support/jest/integration-environment.ts',
      testMatch: ['<rootDir>/test/integration/**/*.test.ts'],
      ...shared,
    },
    {
      ...common,
      displayName: 'e2e',
      testMatch: ['<rootDir>/test/e2e/**/*.test.ts'],
      ...shared,
    },
  ],
};
