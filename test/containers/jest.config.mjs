import { common } from '../../jest.config.mjs';

export default {
  ...common,
  rootDir: '../..',
  displayName: 'containers',
  testMatch: ['<rootDir>/test/containers/**/*.test.ts'],
  testTimeout: 600_000,
  // Each suite starts a system of its own, and all of them need the whole machine.
  maxWorkers: 1,
};
