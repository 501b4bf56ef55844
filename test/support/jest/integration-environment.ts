import { type Infrastructure, VARIABLES } from '../infrastructure.ts';
import Environment from './environment.ts';

/** Tells a suite where the infrastructure of its worker is. */
export default class IntegrationEnvironment extends Environment {
  override async setup(): Promise<void> {
    const { TEST_INFRASTRUCTURE_URL: server, JEST_WORKER_ID: worker } = process.env;
    const response = await fetch(`${server}/${worker}`);
    const text = await response.text();
    if (!response.ok) throw new Error(`The infrastructure of the tests did not start: ${text}`);
    const found = JSON.parse(text) as Infrastructure;
    await super.setup();
    for (const part of ['brokers', 'redisUrl', 'rpcUrl'] as const)
      this.global.process.env[VARIABLES[part]] = found[part];
  }
}
