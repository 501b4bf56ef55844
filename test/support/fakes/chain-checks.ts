import type { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import type { TokenRule } from '#shared/contracts/rules/rule.ts';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { infrastructure } from '../infrastructure/infrastructure.ts';
import { type Fault, type FaultKind, type RpcFaultProxy, startRpcFaultProxy } from './rpc-fault-proxy.ts';

/** Starts fault proxies in front of the run's chain for the tests of a file; each is stopped after
 * its test. */
export function faultProxies(): (fault?: Fault | FaultKind) => Promise<RpcFaultProxy> {
  const proxies: RpcFaultProxy[] = [];
  afterEach(async () => {
    for (const proxy of proxies.splice(0)) await proxy[Symbol.asyncDispose]();
  });
  return async function aProxy(fault = 'none') {
    const proxy = await startRpcFaultProxy({ target: infrastructure().rpcUrl });
    proxies.push(proxy);
    await proxy.setFault(fault);
    return proxy;
  };
}

/** The exact holdings of the demo's holder. */
export const aRule = (over: Partial<TokenRule> = {}): TokenRule => ({
  type: 'ERC20',
  chainId: 31_337,
  contractAddress: demoTokens.erc20,
  roleId: 'r',
  minToken: '1500.5',
  ...over,
});

export const grantedOf = ({ roles }: { roles: { granted: boolean }[] }) =>
  roles.map(({ granted }) => granted);
export const codesOf = ({ errors }: { errors: { code: UndeterminedCode }[] }) =>
  errors.map(({ code }) => code);
