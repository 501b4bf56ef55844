import { demoRules } from '../builders/demo-rules.ts';
import { type SharedSystem, sharedSystem } from '../systems/shared-system.ts';
import type { PortalClient } from '../systems/start-portal.ts';
import { openBrowser, type TestBrowser, type Visitor } from './open-browser.ts';
import { approveApp, enter, enterAs, type MadeApp, makeApp } from './portal-steps.ts';

type UsedPortal = {
  readonly system: SharedSystem;
  /** A person with a browser profile of their own, who is not signed in. */
  readonly open: (options?: Parameters<TestBrowser['open']>[1]) => Promise<Visitor>;
  /** Signs somebody new up by the API; the visitor's pages are signed in. */
  readonly newDeveloper: (visitor: Visitor) => Promise<PortalClient>;
  /** The operator in the browser; there from `beforeAll` on. */
  readonly operator: () => Visitor;
  /** The same operator by the API. */
  readonly operatorApi: () => PortalClient;
  /** An app of the developer whose scope the operator has approved, made by the API. */
  readonly approvedApp: (developer: PortalClient, name: string) => Promise<MadeApp>;
  /** A check that the demo chain grants. */
  readonly goodCheck: () => { readonly account: string; readonly rules: readonly unknown[] };
};

/**
 * Opens one browser for a suite, on the portal of the shared system, with an operator who is signed
 * in, and closes it after the suite.
 *
 * @example
 * const { open, newDeveloper } = usePortal();
 * test('…', async () => {
 *   await using ada = await open();
 *   const developer = await newDeveloper(ada);
 * });
 */
export function usePortal(): UsedPortal {
  const system = sharedSystem();
  const { portal } = system.ready;
  let browser: TestBrowser;
  let operator: Visitor;
  let operatorApi: PortalClient;
  beforeAll(async () => {
    browser = await system.use(openBrowser());
    operator = await browser.open(portal);
    operatorApi = await enterAs(operator, portal, system.ready.operator);
  });
  return {
    system,
    open: (options) => browser.open(portal, options),
    newDeveloper: (visitor) => enter(visitor, portal),
    operator: () => operator,
    operatorApi: () => operatorApi,
    async approvedApp(developer, name) {
      const app = await makeApp(developer, name);
      await approveApp(operatorApi, developer, app);
      return app;
    },
    goodCheck: () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] }),
  };
}
