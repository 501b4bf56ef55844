import { type Infrastructure, VARIABLES } from '../infrastructure/infrastructure.ts';
import { askForPart } from './ask-for-part.ts';
import Environment from './environment.ts';

/** Tells a suite where the infrastructure of its worker is. */
export default class IntegrationEnvironment extends Environment {
  override async setup(): Promise<void> {
    const found = JSON.parse(await askForPart('infrastructure')) as Infrastructure;
    await super.setup();
    for (const part of ['brokers', 'redisUrl', 'rpcUrl'] as const)
      this.global.process.env[VARIABLES[part]] = found[part];
  }
}
