import { type Infrastructure, VARIABLES } from '../infrastructure/infrastructure.ts';
import { borrowPart, returnPart } from './borrow-part.ts';
import Environment from './environment.ts';

/** Tells a suite where the infrastructure is that it has for itself. */
export default class IntegrationEnvironment extends Environment {
  override async setup(): Promise<void> {
    const found = JSON.parse(await borrowPart('infrastructure')) as Infrastructure;
    await super.setup();
    for (const part of ['brokers', 'redisUrl', 'rpcUrl'] as const)
      this.global.process.env[VARIABLES[part]] = found[part];
  }

  override async teardown(): Promise<void> {
    await super.teardown();
    await returnPart('infrastructure');
  }
}
