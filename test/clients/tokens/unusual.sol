// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// Balances are shares of a pool that grew by a third.
contract RebasingErc20 is ERC20 {
    uint256 private pool = 4001;
    uint256 private shares = 3000;

    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 7 ether + i);
    }

    function balanceOf(address account) public view override returns (uint256) {
        return super.balanceOf(account) * pool / shares;
    }
}

/// Each transfer loses one per cent.
contract FeeErc20 is ERC20 {
    constructor(address[] memory holders) ERC20("Token", "T") {
        _mint(holders[0], 1000);
        for (uint256 i = 1; i < holders.length; i++) _transfer(holders[0], holders[i], 123);
    }

    function _update(address from, address to, uint256 amount) internal override {
        uint256 fee = from == address(0) ? 0 : amount / 100 + 1;
        super._update(from, to, amount - fee);
        if (fee > 0) super._update(from, address(this), fee);
    }
}

/// Reveals nothing about the second holder.
contract BlocklistErc20 is ERC20 {
    address private blocked;

    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1 ether + i);
        blocked = holders[1];
    }

    function balanceOf(address account) public view override returns (uint256) {
        require(account != blocked, "blocked");
        return super.balanceOf(account);
    }
}

contract WideDecimalsErc20 is ERC20 {
    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 10 ** 36 + i);
    }

    function decimals() public pure override returns (uint8) {
        return 36;
    }
}

contract AbsurdDecimalsErc20 {
    uint256 public decimals = 256;
    mapping(address => uint256) public balanceOf;

    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) balanceOf[holders[i]] = 5;
    }
}

/// A balance costs about 300 000 gas: more than the evaluator's first attempt allows.
contract CostlyErc20 is ERC20 {
    uint256 private rounds = 1000;

    constructor(address[] memory holders) ERC20("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 1 ether + i);
    }

    function balanceOf(address account) public view override returns (uint256 sum) {
        for (uint256 i = 0; i < rounds; i++) sum += uint256(keccak256(abi.encode(i, sum))) & 1;
        return super.balanceOf(account) + sum - sum;
    }
}

/// A contract that answers every call with two words.
contract TwoWords {
    constructor(address[] memory) {}

    fallback() external {
        assembly {
            return(0, 64)
        }
    }
}

/// An assertion since Solidity 0.8: a revert that carries Panic(1).
contract PanicErc721 {
    mapping(uint256 => address) private owners;
    mapping(address => uint256) public balanceOf;

    constructor(address[] memory holders) {
        for (uint256 i = 0; i < holders.length; i++) {
            owners[i + 1] = holders[i];
            balanceOf[holders[i]]++;
        }
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd;
    }

    function ownerOf(uint256 id) external view returns (address owner) {
        owner = owners[id];
        assert(owner != address(0));
    }
}

/// A contract that answers every call with one word.
contract YesToAll {
    constructor(address[] memory) {}

    fallback() external {
        assembly {
            mstore(0, 1)
            return(0, 32)
        }
    }
}
