// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";
import "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import "@openzeppelin/contracts/token/ERC20/extensions/ERC20Wrapper.sol";
import "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import "@openzeppelin/contracts/token/ERC721/extensions/ERC721Consecutive.sol";
import "@openzeppelin/contracts/token/ERC721/extensions/ERC721Enumerable.sol";
import "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";
import "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Supply.sol";

contract Oz5Erc20 is ERC20 {
    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1500.5 ether + i);
    }
}

contract Oz5Erc20SixDecimals is ERC20 {
    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1_500_500_001 + i);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }
}

contract Oz5Erc20ZeroDecimals is ERC20 {
    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 7 + i);
    }

    function decimals() public pure override returns (uint8) {
        return 0;
    }
}

contract Oz5Erc20Paused is ERC20Pausable {
    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 3 ether + i);
        _pause();
    }
}

contract Oz5Erc20Votes is ERC20Permit, ERC20Votes {
    constructor(address[] memory holders) ERC20("Token", "T") ERC20Permit("Token") {
        for (uint256 i = 0; i < holders.length; i++) {
            _mint(holders[i], 4 ether + i);
            _delegate(holders[i], holders[i]);
        }
    }

    function _update(address from, address to, uint256 amount) internal override(ERC20, ERC20Votes) {
        super._update(from, to, amount);
    }

    function nonces(address owner) public view override(ERC20Permit, Nonces) returns (uint256) {
        return super.nonces(owner);
    }
}

contract Oz5Erc20Wrapper is ERC20Wrapper {
    constructor(address[] memory holders)
        ERC20("Token", "T")
        ERC20Wrapper(new Oz5Erc20SixDecimals(holders))
    {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 5_000_001 + i);
    }
}

contract Oz5Erc4626 is ERC4626 {
    constructor(address[] memory holders)
        ERC20("Vault", "V")
        ERC4626(new Oz5Erc20SixDecimals(holders))
    {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 6_000_000_001 + i);
    }

    function _decimalsOffset() internal pure override returns (uint8) {
        return 3;
    }
}

contract Oz5Erc721 is ERC721 {
    constructor(address[] memory holders) ERC721("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }
}

contract Oz5Erc721Enumerable is ERC721Enumerable {
    constructor(address[] memory holders) ERC721("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i + 1);
    }
}

contract Oz5Erc721Burned is ERC721URIStorage {
    constructor(address[] memory holders) ERC721("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i);
        _burn(1);
        _burn(4);
    }
}

contract Oz5Erc721Consecutive is ERC721Consecutive {
    constructor(address[] memory holders) ERC721("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mintConsecutive(holders[i], 4);
    }
}

contract Oz5Erc1155 is ERC1155 {
    constructor(address[] memory holders) ERC1155("") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], i + 1, 10 + i, "");
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 7, 3, "");
    }
}

contract Oz5Erc1155Supply is ERC1155Supply {
    constructor(address[] memory holders) ERC1155("") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 7, 3 + i, "");
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], type(uint256).max, 1, "");
    }
}
