import { findOutput, parseViewFunction } from '#shared/contracts/rules/view-function.ts';

// View functions that public contracts have and voting strategies call, with the output that a rule
// would compare. The word is that of the ABI's encoding, counted by hand.

/** What a rule with this function and path is, or why it is refused. */
function judge(signature: string, returns: string | undefined): string {
  const parsed = parseViewFunction(signature);
  if (!parsed.ok) return 'refused at /function';
  const output = findOutput(parsed.fn, returns);
  if (!output.ok) return `${output.code} at /returns`;
  const { type, word } = output;
  const size = 'bits' in type ? type.bits : 'byteCount' in type ? type.byteCount : '';
  return `word ${word} of ${parsed.fn.wordCount}: ${type.kind}${size}`;
}

test.each<[string, string | undefined, string]>([
  // Uniswap v2 and v3
  [
    'function getReserves() external view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)',
    'reserve1',
    'word 1 of 3: uint112',
  ],
  [
    'function slot0() external view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
    'tick',
    'word 1 of 7: int24',
  ],
  [
    'function positions(uint256 tokenId) external view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
    'liquidity',
    'word 7 of 12: uint128',
  ],
  // Aave
  [
    'function getUserAccountData(address user) view returns (uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase, uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor)',
    'healthFactor',
    'word 5 of 6: uint256',
  ],
  [
    'function getReserveData(address asset) view returns (((uint256 data) configuration, uint128 liquidityIndex, uint128 currentLiquidityRate, uint128 variableBorrowIndex, uint128 currentVariableBorrowRate, uint128 currentStableBorrowRate, uint40 lastUpdateTimestamp, uint16 id, address aTokenAddress, address stableDebtTokenAddress, address variableDebtTokenAddress, address interestRateStrategyAddress, uint128 accruedToTreasury, uint128 unbacked, uint128 isolationModeTotalDebt) data)',
    'data.configuration.data',
    'word 0 of 15: uint256',
  ],
  // Staking, locks and vesting
  [
    'function userInfo(uint256 pid, address user) view returns (uint256 amount, int256 rewardDebt)',
    undefined,
    'word 0 of 2: uint256',
  ],
  ['function locked(address) view returns (int128 amount, uint256 end)', 'end', 'word 1 of 2: uint256'],
  [
    'function locked(uint256) view returns ((int128 amount, uint256 end) lock)',
    'lock.end',
    'word 1 of 2: uint256',
  ],
  [
    'function getStream(uint256 streamId) view returns ((address sender, uint40 startTime, uint40 endTime, uint40 cliffTime, bool isCancelable, bool wasCanceled, address asset, bool isDepleted, bool isStream, bool isTransferable, (uint128 deposited, uint128 withdrawn, uint128 refunded) amounts) stream)',
    'stream.amounts.withdrawn',
    'word 11 of 13: uint128',
  ],
  [
    'function getUser(address user) view returns (tuple(uint256 amount, uint256 cumulativeWeight, uint256 lastUpdateTimestamp))',
    '0.amount',
    'word 0 of 3: uint256',
  ],
  [
    'function getUserStake(address stakedToken, address account) view returns (tuple(uint256 cumulativeBalance, uint256 averageDepositTime, uint256 rewardsAccumulatedPerToken, uint256 rewardsOutstanding))',
    '0.1',
    'word 1 of 4: uint256',
  ],
  [
    'function userPropertiesList(address wallet) view returns (tuple(bool isActive, uint256 spentAmount, uint256 vestingId, bool tgeClaimed) userProperties)',
    'userProperties.spentAmount',
    'word 1 of 4: uint256',
  ],
  [
    'function getFNFT(uint fnftId) external view returns (tuple(address asset, address pipeToContract, uint depositAmount, uint depositMul, uint split, uint depositStopTime, bool maturityExtension, bool isMulti, bool nontransferrable))',
    '0.depositAmount',
    'word 2 of 9: uint256',
  ],
  [
    'function lockedBalances(address user) view returns (uint256 total, uint256 unlockable, uint256 locked, tuple(uint256 amount, uint256 unlockTime)[] lockData)',
    'locked',
    'word 2 of 4: uint256',
  ],
  [
    'function getStake(address user) external view returns (uint256,uint256[] memory,uint256,uint256)',
    '3',
    'word 3 of 4: uint256',
  ],
  [
    'function getDelegatorInfo(address _candidateAddr, address _delegatorAddr) view returns (uint256 delegatedStake, uint256 undelegatingStake, uint256[] intentAmounts, uint256[] intentProposedTimes)',
    'delegatedStake',
    'word 0 of 4: uint256',
  ],
  // Names beside numbers
  [
    'function getCharacterOverView(uint256 tokenId) external view returns (string memory, uint256, uint256)',
    '1',
    'word 1 of 3: uint256',
  ],
  [
    'function viewHat(uint256 hatId) view returns (string details, uint32 maxSupply, uint32 supply, address eligibility, address toggle, string imageURI, uint16 lastHatId, bool mutable_, bool active)',
    'active',
    'word 8 of 9: bool',
  ],
  [
    'function getPoolSettings() external view returns (uint8, address, uint48, address, uint48, address, uint48, uint48, uint256, address[], bytes32)',
    '10',
    'word 10 of 11: fixed-bytes32',
  ],
  [
    'function getPoolTokens(bytes32 poolId) external view returns (address[] tokens, uint256[] balances, uint256 lastChangeBlock)',
    'lastChangeBlock',
    'word 2 of 3: uint256',
  ],
  [
    'function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
    'updatedAt',
    'word 3 of 5: uint256',
  ],
  // Fixed arrays
  ['function balances() view returns (uint256[4] memory)', '0.3', 'word 3 of 4: uint256'],
  [
    'function cumulativePrices() view returns (uint256[2][3] memory prices, uint32 at)',
    'prices.2.1',
    'word 5 of 7: uint256',
  ],
  // Arguments of the language's own
  ['function balanceOf(address) public view  returns(uint)', undefined, 'word 0 of 1: uint256'],
])('%s at %p is %s', (signature, returns, expected) => expect(judge(signature, returns)).toBe(expected));

test.each<[string, string | undefined, string]>([
  // The compared value is dynamic, or inside a dynamic value
  [
    'function tokenURI(uint256 tokenId) external view returns (string)',
    undefined,
    'function-unsupported at /returns',
  ],
  [
    'function tokensOfOwner(address account) external view returns (uint256[])',
    '0.0',
    'function-unsupported at /returns',
  ],
  [
    'function getUserInfo(uint256 _pid, address _user) view returns (tuple(uint256 amount, uint256[] RewardDebt, uint256[] RemainingRewards))',
    '0.amount',
    'function-unsupported at /returns',
  ],
  [
    'function getStakedBatches(address _user) external view returns ((uint256, uint256)[] memory)',
    '0.0.0',
    'function-unsupported at /returns',
  ],
  [
    'function depositsOf(address account) external view returns (uint256[][2])',
    '0.0',
    'function-unsupported at /returns',
  ],
  // The inputs are
  [
    'function getVotingPower(address account, bytes32[] operatedPoolIds) view returns (uint256 votingPower)',
    undefined,
    'refused at /function',
  ],
  [
    'function balanceOfBatch(address[] calldata accounts, uint256[] calldata ids) view returns (uint256[] memory)',
    undefined,
    'refused at /function',
  ],
  // A name of the contract's source, not of its interface
  [
    'function getStakedBatches(address _user) external view returns (StakeBatch[] memory)',
    '0',
    'refused at /function',
  ],
])('%s at %p is %s', (signature, returns, expected) => expect(judge(signature, returns)).toBe(expected));
