import { sendTransaction } from '../../../deploy/local/demo/send-transaction.ts';

/** The first account of every local chain: it pays for the deployments of the tests. */
const DEPLOYER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

const BALANCE_OF = '70a08231';
const DECIMALS = '313ce567';
const OWNER_OF = '6352211e';

/** Hand-written runtime code, hex without `0x`; each is a handful of opcodes. */
const RETURN_WORD = '60005260206000f3'; // mstore(0, top); return(0, 32)
const push = (value: number | bigint) => `7f${value.toString(16).padStart(64, '0')}`;
/** Code that answers calls by selector, and every other call with the last code. */
function dispatch(cases: Readonly<Record<string, string>>, otherwise: string): string {
  const entries = Object.entries(cases);
  const headBytes = 6 + entries.length * 11;
  let head = '60003560e01c';
  let bodies = otherwise;
  for (const [selector, body] of entries) {
    const target = headBytes + bodies.length / 2;
    head += `8063${selector}1461${target.toString(16).padStart(4, '0')}57`;
    bodies += `5b${body}`;
  }
  return head + bodies;
}

const REVERT = '60006000fd';
const balanceAndDecimals = (decimals: string): string =>
  dispatch({ [BALANCE_OF]: push(5) + RETURN_WORD, [DECIMALS]: decimals }, REVERT);
/** The minimal proxy of ERC-1167. */
export const proxyTo = (target: string): string =>
  `363d3d373d3d3d363d73${target.replace(/^0x/, '')}5af43d82803e903d91602b57fd5bf3`;
const SUPPORTS_INTERFACE = '01ffc9a7';
/** How `assert(false)` ends since Solidity 0.8. */
const REVERT_WITH_PANIC_1 = `7f${'4e487b71'.padEnd(64, '0')}600052600160235360246000fd`;
/** Code that tests whether the first argument is this interface id. */
const isInterface = (id: string): string => `7f${id.padEnd(64, '0')}60043514${RETURN_WORD}`;

/** Runtime code by name of the fault. */
export const HOSTILE_CODE = {
  infiniteLoop: '5b600056',
  returnBomb: '621000006000f3',
  revertBomb: '621000006000fd',
  revertEmpty: REVERT,
  revertWithData: '60206000fd',
  returnsNothing: '00',
  returns64Bytes: '60406000f3',
  returns31Bytes: '601f6000f3',
  invalidOpcode: 'fe',
  selfDestructs: '6000ff',
  writesState: '600160005500',
  copiesBeyond: '6001600060003e', // returndatacopy(0, 0, 1)
  storesBeyond: '600060001952', // mstore(not(0), 0)
  ownerBurnsGas: dispatch({ [OWNER_OF]: 'fe' }, push(1) + RETURN_WORD),
  proxyToNothing: proxyTo('de'.repeat(20)),
  ownerRevertsErc721: dispatch({ [SUPPORTS_INTERFACE]: isInterface('80ac58cd') }, REVERT),
  ownerRevertsDraftErc721: dispatch({ [SUPPORTS_INTERFACE]: isInterface('9a20483d') }, REVERT),
  ownerThrowsErc721: dispatch({ [SUPPORTS_INTERFACE]: isInterface('80ac58cd'), [OWNER_OF]: 'fe' }, REVERT),
  ownerAssertsErc721: dispatch(
    { [SUPPORTS_INTERFACE]: isInterface('80ac58cd'), [OWNER_OF]: REVERT_WITH_PANIC_1 },
    REVERT,
  ),
  decimalsRevert: balanceAndDecimals(REVERT),
  decimals255: balanceAndDecimals(push(255) + RETURN_WORD),
  decimals256: balanceAndDecimals(push(256) + RETURN_WORD),
  decimalsOf64Bytes: balanceAndDecimals('60406000f3'),
  decimalsBurnGas: balanceAndDecimals('fe'),
} as const satisfies Record<string, string>;

/** Gas that `gasByIdCode` burns for each unit of the id. */
export const GAS_PER_ID = 26;
/** A token whose `ownerOf(id)` names one owner and burns gas in proportion to the id, which is not
 * 0. */
export const gasByIdCode = (owner: string): string =>
  `6004355b60019003806003577f${owner.slice(2).padStart(64, '0')}${RETURN_WORD}`;

/** A token without ERC165: `ownerOf(1)` names the owner, any other id reverts without a reason. */
export const firstIdOnlyCode = (owner: string): string =>
  `600435600114600e57${REVERT}5b7f${owner.slice(2).padStart(64, '0')}${RETURN_WORD}`;

const POKE = '18178358';
/** A token of which everyone holds 1 until the first call of `poke()`, and nothing afterwards. */
export const WRITABLE_CODE = dispatch(
  { [POKE]: `6001600055${push(1)}${RETURN_WORD}` }, // sstore(0, 1)
  `60005415${RETURN_WORD}`, // iszero(sload(0))
);
/** A token of which everyone holds 1, and which calls `poke()` of another one on every call. */
export const pokingCode = (target: string): string =>
  `63${POKE}60e01b6000526000600060046000600073${target.slice(2)}5af150${push(1)}${RETURN_WORD}`;

/** A token that asks another contract with all its gas, and gives the same answer whatever that
 * contract did. */
export const swallowingCode = (target: string, answer = 0): string =>
  `600060006000600073${target.slice(2)}5afa50${push(answer)}${RETURN_WORD}`;

/** An ERC721 whose `ownerOf` names one owner to callers without code, and reverts with data for
 * others. */
export const callersOnlyCode = (owner: string): string =>
  dispatch(
    { [SUPPORTS_INTERFACE]: isInterface('80ac58cd') },
    // if eq(origin(), caller()) jump(0x1c); revert(0, 32)
    `323314601c5760206000fd5b7f${owner.slice(2).padStart(64, '0')}${RETURN_WORD}`,
  );

/** Replaces Arbitrum's ArbSys on a chain whose EVM counts its own blocks: `arbBlockNumber()`,
 * `arbBlockHash(n)`. */
export const ARBSYS_CODE = dispatch(
  { a3b1b31d: `43${RETURN_WORD}`, '2b407a82': `60043540${RETURN_WORD}` },
  REVERT,
);

export type HostileContract = keyof typeof HOSTILE_CODE;

/** Deploys every hostile contract by a transaction of its own; addresses by name. */
export async function deployHostileContracts(rpc: string): Promise<Record<HostileContract, string>> {
  const deployed = new Map<string, string>();
  for (const [name, code] of Object.entries(HOSTILE_CODE)) deployed.set(name, await deployCode(rpc, code));
  return Object.fromEntries(deployed) as Record<HostileContract, string>;
}

/** Deploys runtime code unchanged: the creation code copies the bytes after it and returns them. */
export async function deployCode(rpc: string, runtime: string): Promise<string> {
  const length = (runtime.length / 2).toString(16).padStart(4, '0');
  const data = `0x61${length}80600c6000396000f3${runtime}`;
  const { contractAddress } = await sendTransaction(rpc, { from: DEPLOYER, data });
  if (contractAddress === null) throw new Error('the transaction created no contract');
  return contractAddress;
}
