/** Facts of public chains that do not depend on the operator. */
type KnownChain = {
  readonly chainId: number;
  readonly name: string;
  readonly nativeSymbol: string;
  readonly nativeDecimals: number;
  readonly blockTimeMs: number;
  /**
   * Which chain's block number the EVM returns: `parent` on Arbitrum's chains. The evaluator detects this by itself, also
   * on chains that are not listed; it is listed for readers of block numbers in contracts.
   */
  readonly evmBlockNumber: 'own' | 'parent';
};

const chain = (
  chainId: number,
  name: string,
  nativeSymbol: string,
  blockTimeMs: number,
  evmBlockNumber: KnownChain['evmBlockNumber'] = 'own',
): KnownChain => ({ chainId, name, nativeSymbol, nativeDecimals: 18, blockTimeMs, evmBlockNumber });

/** Well-known chains, by the ids of github.com/ethereum-lists/chains; block times as their own documents say. */
export const KNOWN_CHAINS: readonly KnownChain[] = [
  chain(1, 'Ethereum', 'ETH', 12_000),
  chain(10, 'OP Mainnet', 'ETH', 2_000),
  chain(25, 'Cronos', 'CRO', 500),
  chain(56, 'BNB Smart Chain', 'BNB', 750),
  chain(100, 'Gnosis', 'XDAI', 5_000),
  chain(130, 'Unichain', 'ETH', 1_000),
  chain(137, 'Polygon', 'POL', 2_000),
  chain(146, 'Sonic', 'S', 500),
  chain(250, 'Fantom', 'FTM', 1_000),
  chain(480, 'World Chain', 'ETH', 2_000),
  chain(1_284, 'Moonbeam', 'GLMR', 6_000),
  chain(1_329, 'Sei', 'SEI', 400),
  chain(2_020, 'Ronin', 'RON', 3_000),
  chain(5_000, 'Mantle', 'MNT', 2_000),
  chain(8_453, 'Base', 'ETH', 2_000),
  chain(17_000, 'Holesky', 'ETH', 12_000),
  chain(33_139, 'ApeChain', 'APE', 250, 'parent'),
  chain(42_161, 'Arbitrum One', 'ETH', 250, 'parent'),
  chain(42_170, 'Arbitrum Nova', 'ETH', 250, 'parent'),
  chain(42_220, 'Celo', 'CELO', 1_000),
  chain(43_114, 'Avalanche C-Chain', 'AVAX', 2_000),
  chain(57_073, 'Ink', 'ETH', 1_000),
  chain(59_144, 'Linea', 'ETH', 2_000),
  chain(80_094, 'Berachain', 'BERA', 2_000),
  chain(81_457, 'Blast', 'ETH', 2_000),
  chain(84_532, 'Base Sepolia', 'ETH', 2_000),
  chain(421_614, 'Arbitrum Sepolia', 'ETH', 250, 'parent'),
  chain(534_352, 'Scroll', 'ETH', 3_000),
  chain(560_048, 'Hoodi', 'ETH', 12_000),
  chain(7_777_777, 'Zora', 'ETH', 2_000),
  chain(11_155_111, 'Sepolia', 'ETH', 12_000),
  chain(11_155_420, 'OP Sepolia', 'ETH', 2_000),
];

const BY_ID = new Map(KNOWN_CHAINS.map((known) => [known.chainId, known]));

/**
 * The known facts of a chain.
 *
 * @example
 * knownChain(8453)?.blockTimeMs; // 2000
 */
export const knownChain = (chainId: number): KnownChain | undefined => BY_ID.get(chainId);
