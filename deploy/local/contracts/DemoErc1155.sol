// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// A real ERC1155 for the local chain. Anybody may mint: it is worth nothing anywhere.
contract DemoErc1155 is ERC1155 {
    constructor(address holder) ERC1155("") {
        _mint(holder, 7, 10, "");
        _mint(holder, 8, 5, "");
    }

    function mint(address to, uint256 id, uint256 amount) external {
        _mint(to, id, amount, "");
    }
}
