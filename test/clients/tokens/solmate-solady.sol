// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.4;

import {ERC20 as SolmateErc20} from "solmate/src/tokens/ERC20.sol";
import {ERC721 as SolmateErc721} from "solmate/src/tokens/ERC721.sol";
import {ERC1155 as SolmateErc1155} from "solmate/src/tokens/ERC1155.sol";
import {ERC4626 as SolmateErc4626} from "solmate/src/tokens/ERC4626.sol";
import {ERC6909 as SolmateErc6909} from "solmate/src/tokens/ERC6909.sol";
import {WETH as SolmateWeth} from "solmate/src/tokens/WETH.sol";
import {ERC20 as SoladyErc20} from "solady/src/tokens/ERC20.sol";
import {ERC721 as SoladyErc721} from "solady/src/tokens/ERC721.sol";
import {ERC1155 as SoladyErc1155} from "solady/src/tokens/ERC1155.sol";
import {ERC6909 as SoladyErc6909} from "solady/src/tokens/ERC6909.sol";
import {WETH as SoladyWeth} from "solady/src/tokens/WETH.sol";
import {LibClone} from "solady/src/utils/LibClone.sol";

contract Solmate20 is SolmateErc20 {
    constructor(address[] memory holders) SolmateErc20("Token", "T", 8) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 150050000001 + i);
    }
}

contract Solmate721 is SolmateErc721 {
    constructor(address[] memory holders) SolmateErc721("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }

    function tokenURI(uint256) public pure override returns (string memory) {
        return "";
    }
}

contract Solmate1155 is SolmateErc1155 {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], i + 1, 40 + i, "");
    }

    function uri(uint256) public pure override returns (string memory) {
        return "";
    }
}

contract Solmate4626 is SolmateErc4626 {
    constructor(address[] memory holders) SolmateErc4626(new Solmate20(holders), "Vault", "V") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 5 + i);
    }

    function totalAssets() public pure override returns (uint256) {
        return 0;
    }
}

contract Solmate6909 is SolmateErc6909 {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], i + 1, 50 + i);
    }
}

contract SolmateWrapped is SolmateWeth {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1 ether + i);
    }
}

contract Solady20 is SoladyErc20 {
    constructor(address[] memory holders) {
        mint(holders);
    }

    function mint(address[] memory holders) public {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1500.5 ether + i);
    }

    function name() public pure override returns (string memory) {
        return "Token";
    }

    function symbol() public pure override returns (string memory) {
        return "T";
    }
}

contract Solady20Clone {
    address public deployed;

    constructor(address[] memory holders) {
        deployed = LibClone.clone(address(new Solady20(new address[](0))));
        Solady20(deployed).mint(holders);
    }
}

contract Solady20Erc1967 {
    address public deployed;

    constructor(address[] memory holders) {
        deployed = LibClone.deployERC1967(address(new Solady20(new address[](0))));
        Solady20(deployed).mint(holders);
    }
}

contract Solady721 is SoladyErc721 {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }

    function name() public pure override returns (string memory) {
        return "Token";
    }

    function symbol() public pure override returns (string memory) {
        return "T";
    }

    function tokenURI(uint256) public pure override returns (string memory) {
        return "";
    }
}

contract Solady1155 is SoladyErc1155 {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], i + 1, 60 + i, "");
    }

    function uri(uint256) public pure override returns (string memory) {
        return "";
    }
}

contract Solady6909 is SoladyErc6909 {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], i + 1, 70 + i);
    }

    function name(uint256) public pure override returns (string memory) {
        return "Token";
    }

    function symbol(uint256) public pure override returns (string memory) {
        return "T";
    }

    function tokenURI(uint256) public pure override returns (string memory) {
        return "";
    }
}

contract SoladyWrapped is SoladyWeth {
    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 2 ether + i);
    }
}
