// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.5.0;

import "openzeppelin-2/token/ERC20/ERC20Detailed.sol";
import "openzeppelin-2/token/ERC20/ERC20Mintable.sol";
import "openzeppelin-2/token/ERC721/ERC721Full.sol";
import "canonical-weth/contracts/WETH9.sol";
import {UniswapV2ERC20} from "@uniswap/v2-core/contracts/UniswapV2ERC20.sol";

contract Oz2Erc20 is ERC20Detailed, ERC20Mintable {
    constructor(address[] memory holders) public ERC20Detailed("Token", "T", 2) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 15005 + i);
    }
}

contract Oz2Erc721 is ERC721Full {
    constructor(address[] memory holders) public ERC721Full("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }
}

contract CanonicalWeth9 is WETH9 {
    constructor(address[] memory holders) public {
        for (uint256 i = 0; i < holders.length; i++) balanceOf[holders[i]] = 1 ether + i;
    }
}

contract UniswapV2Lp is UniswapV2ERC20 {
    constructor(address[] memory holders) public {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1 ether + i);
    }
}
