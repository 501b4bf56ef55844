// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {ERC20Votes} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol";
import {ERC6909} from "@openzeppelin/contracts/token/ERC6909/ERC6909.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";

/// A token of 6 decimals that counts votes.
contract Coin is ERC20, ERC20Votes {
    constructor(address holder, uint256 amount) ERC20("Coin", "COIN") EIP712("Coin", "1") {
        _mint(holder, amount);
        _delegate(holder, holder);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function _update(address from, address to, uint256 value) internal override(ERC20, ERC20Votes) {
        super._update(from, to, value);
    }
}

contract Vault is ERC4626 {
    constructor(IERC20 coin) ERC20("Vault", "VLT") ERC4626(coin) {}
}

contract Roles is AccessControl {
    constructor(address admin) {
        _grantRole(DEFAULT_ADMIN_ROLE, admin);
    }
}

contract Multi is ERC6909 {
    constructor(address holder) {
        _mint(holder, 7, 70);
    }
}

contract Nft is ERC721 {
    constructor(address holder) ERC721("Nft", "NFT") {
        _mint(holder, 1);
        _mint(holder, 2);
    }
}

contract Items is ERC1155 {
    constructor(address holder) ERC1155("") {
        _mint(holder, 7, 50, "");
    }
}
