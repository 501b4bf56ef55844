// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {VestingWallet} from "@openzeppelin/contracts/finance/VestingWallet.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// The contracts that the recipes of the documentation read, where no package has one.

/// Counts what was staked by whom.
contract Staking {
    IERC20 private immutable coin;
    mapping(address => uint256) public balanceOf;

    constructor(IERC20 staked) {
        coin = staked;
    }

    function stake(uint256 amount) external {
        require(coin.transferFrom(msg.sender, address(this), amount));
        balanceOf[msg.sender] += amount;
    }
}

contract Vesting is VestingWallet {
    constructor(address beneficiary, uint64 start, uint64 duration) VestingWallet(beneficiary, start, duration) {}
}

contract Club {
    mapping(address => uint64) public expiresAt;

    function subscribe(address member, uint64 until) external {
        expiresAt[member] = until;
    }
}

/// A hat is worn while the wearer is eligible and the hat is active.
contract Hats {
    mapping(uint256 => mapping(address => uint256)) private until;
    mapping(uint256 => bool) private inactive;

    function mintHat(uint256 hatId, address wearer, uint256 eligibleUntil) external {
        until[hatId][wearer] = eligibleUntil;
    }

    function setHatStatus(uint256 hatId, bool active) external {
        inactive[hatId] = !active;
    }

    function isWearerOfHat(address wearer, uint256 hatId) external view returns (bool) {
        return !inactive[hatId] && block.timestamp < until[hatId][wearer];
    }
}

/// A token that stays where it was minted (ERC-5192).
contract Badge is ERC721 {
    constructor(address holder) ERC721("Badge", "BDG") {
        _mint(holder, 1);
    }

    function locked(uint256 tokenId) external view returns (bool) {
        _requireOwned(tokenId);
        return true;
    }

    function supportsInterface(bytes4 interfaceId) public view override returns (bool) {
        return interfaceId == 0xb45a3c0e || super.supportsInterface(interfaceId);
    }
}

/// A token with a user beside its owner (ERC-4907).
contract Rental is ERC721 {
    mapping(uint256 => address) private user;
    mapping(uint256 => uint64) public userExpires;

    constructor(address owner) ERC721("Rental", "RNT") {
        for (uint256 id = 1; id <= 2; id++) _mint(owner, id);
    }

    function setUser(uint256 tokenId, address newUser, uint64 expires) external {
        _checkAuthorized(_requireOwned(tokenId), msg.sender, tokenId);
        user[tokenId] = newUser;
        userExpires[tokenId] = expires;
    }

    function userOf(uint256 tokenId) external view returns (address) {
        return userExpires[tokenId] >= block.timestamp ? user[tokenId] : address(0);
    }
}

contract Tiers {
    mapping(address => mapping(uint256 => uint8)) private tier;

    function setTier(address member, uint256 club, uint8 to) external {
        tier[member][club] = to;
    }

    function tierOf(address member, uint256 club) external view returns (uint8, bool) {
        return (tier[member][club], tier[member][club] > 0);
    }
}
