// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.7.5;
pragma experimental ABIEncoderV2;

import {StakedAave} from "@aave/aave-stake/contracts/stake/StakedAave.sol";
import {DistributionTypes} from "@aave/aave-stake/contracts/lib/DistributionTypes.sol";
import {IERC20} from "@aave/aave-stake/contracts/interfaces/IERC20.sol";
import {MintableErc20} from "@aave/aave-stake/contracts/utils/MintableErc20.sol";

/// Staked AAVE, which pays rewards by the second.
contract StakedAaveMaker {
    address public deployed;

    constructor(address[] memory holders) {
        MintableErc20 token = new MintableErc20("Aave", "AAVE", 18);
        IERC20 aave = IERC20(address(token));
        StakedAave staked = new StakedAave(aave, aave, 10 days, 2 days, address(this), address(this), 36500 days);
        token.mint(1000 ether);
        token.approve(address(staked), 1000 ether);
        for (uint256 i = 0; i < holders.length; i++) staked.stake(holders[i], 30 ether + i);
        DistributionTypes.AssetConfigInput[] memory configs = new DistributionTypes.AssetConfigInput[](1);
        configs[0] = DistributionTypes.AssetConfigInput(1 ether, 90 ether, address(staked));
        staked.configureAssets(configs);
        deployed = address(staked);
    }
}
