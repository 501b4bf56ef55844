import { common } from '../../jest.config.mjs';

export default {
  ...common,
  rootDir: '../..',
  displayName: 'containers',
  testMatch: ['<rootDir>/test/containers/**/*.test.ts'],
  testTimeout: 600_000,
};
