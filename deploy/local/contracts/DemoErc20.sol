// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A real ERC20 with 6 decimals for the local chain. Anybody may mint: it is worth nothing anywhere.
contract DemoErc20 is ERC20 {
    constructor(address holder) ERC20("Demo Dollar", "DUSD") {
        _mint(holder, 1500_500000);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }
}
